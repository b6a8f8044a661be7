/** Pictures that the person pastes or drops into the input. */
import type { Picture } from "../shared/messages";
import { bytes } from "./words";

/** What the server takes (docs/protocol.md, `limits.imageBytes`). */
const LARGEST = 10_000_000;
const KINDS = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** The files among what was pasted or dropped that are pictures by their type. */
export function picturesIn(transfer: DataTransfer | null): File[] {
  return [...(transfer?.files ?? [])].filter((file) => file.type.startsWith("image/"));
}

/** What can be sent, and a sentence about each that cannot. */
export async function read(files: readonly File[]): Promise<{ pictures: Picture[]; problems: string[] }> {
  const problems = files.flatMap((file) => problemOf(file) ?? []);
  const good = files.filter((file) => problemOf(file) === undefined);
  const pictures = await Promise.all(
    good.map(async (file) => ({ mimeType: file.type, data: await base64(file), name: file.name })),
  );
  return { pictures, problems };
}

function problemOf(file: File): string | undefined {
  if (!KINDS.includes(file.type)) {
    return `${file.name} is ${file.type}; pictures can be PNG, JPEG, GIF or WebP.`;
  }
  if (file.size > LARGEST) {
    return `${file.name} has ${bytes(file.size)}; a picture can have up to ${bytes(LARGEST)}. Make it smaller first.`;
  }
  return undefined;
}

function base64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).split(",", 2)[1] ?? "");
    reader.onerror = () => reject(new Error(`${file.name} could not be read.`));
    reader.readAsDataURL(file);
  });
}
