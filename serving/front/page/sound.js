// Sounds: read by the browser, written as WAV.

const RATE = 48_000; // samples a second of what is written
const HEADER = 44; // bytes

/** Whether the bytes of a file begin as those of a WAV file do. */
export async function isWav(file) {
  const bytes = new Uint8Array(await file.slice(0, 12).arrayBuffer());
  return /^RIFF[^]{4}WAVE$/.test(String.fromCharCode(...bytes));
}

/** The mean of a sound's channels, so many samples a second. */
export async function samplesOf(file, rate) {
  const sound = await new OfflineAudioContext(1, 1, rate).decodeAudioData(await file.arrayBuffer());
  const channels = Array.from({ length: sound.numberOfChannels }, (_, channel) => sound.getChannelData(channel));
  return channels[0].map((_, place) => channels.reduce((sum, channel) => sum + channel[place], 0) / channels.length);
}

/** A sound of any kind that the browser reads, or its first `seconds`, as a WAV file of 16 bits and one channel. */
export async function asWav(file, name, seconds = Infinity) {
  const samples = (await samplesOf(file, RATE)).slice(0, seconds * RATE);
  const view = new DataView(new ArrayBuffer(HEADER + 2 * samples.length));
  const text = (place, letters) => [...letters].forEach((letter, index) => view.setUint8(place + index, letter.charCodeAt(0)));
  text(0, "RIFF");
  view.setUint32(4, view.byteLength - 8, true);
  text(8, "WAVEfmt ");
  view.setUint32(16, 16, true); // bytes of what follows up to the data
  view.setUint16(20, 1, true); // whole numbers
  view.setUint16(22, 1, true); // channels
  view.setUint32(24, RATE, true);
  view.setUint32(28, 2 * RATE, true); // bytes a second
  view.setUint16(32, 2, true); // bytes of a sample
  view.setUint16(34, 16, true); // bits of a sample
  text(36, "data");
  view.setUint32(40, 2 * samples.length, true);
  samples.forEach((sample, place) => view.setInt16(HEADER + 2 * place, Math.round(32767 * Math.max(-1, Math.min(1, sample))), true));
  return new File([view], `${name}.wav`, { type: "audio/wav" });
}
