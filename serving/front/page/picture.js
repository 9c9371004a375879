// Pictures: of which type their bytes are, and the frames of a clip.

const GIF = "image/gif";
const BEGINNINGS = { [GIF]: /^GIF8[79]a/, "image/png": /^\x89PNG/, "image/jpeg": /^\xff\xd8\xff/, "image/bmp": /^BM/ };
const ENOUGH = 8; // bytes that tell the type

/** The type of a picture by its first bytes; "" where they are of none. */
export function typeOf(bytes) {
  const first = String.fromCharCode(...bytes.subarray(0, ENOUGH));
  return Object.keys(BEGINNINGS).find((type) => BEGINNINGS[type].test(first)) ?? "";
}

/** A file with the type that its bytes tell, where it has none. */
export async function typed(file) {
  if (file.type) return file;
  return new File([file], file.name, { type: typeOf(new Uint8Array(await file.slice(0, ENOUGH).arrayBuffer())) });
}

/** The frames of a clip, each on a canvas. Throws where there are not so many, or the browser cannot read them. */
export async function framesOf(file, count) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  return typeOf(bytes) === GIF ? decoded(bytes, count) : cut(file, count);
}

async function decoded(data, count) {
  const decoder = new ImageDecoder({ data, type: GIF });
  try {
    await decoder.tracks.ready;
    const { frameCount } = decoder.tracks.selectedTrack;
    if (frameCount !== count) throw new Error(`It has ${frameCount} frames.`);
    const frames = [];
    for (let frameIndex = 0; frameIndex < count; frameIndex++) {
      const { image } = await decoder.decode({ frameIndex });
      frames.push(painted(image, image.displayWidth, image.displayHeight));
      image.close();
    }
    return frames;
  } finally {
    decoder.close();
  }
}

/** The parts of a strip, side by side. */
async function cut(file, count) {
  const strip = await createImageBitmap(file);
  const width = Math.floor(strip.width / count);
  return Array.from({ length: count }, (_, place) => painted(strip, width, strip.height, place * width));
}

/** A part of an image on a canvas, from `left` on. */
function painted(image, width, height, left = 0) {
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  canvas.getContext("2d").drawImage(image, -left, 0);
  return canvas;
}
