const x = 2;
let y;
