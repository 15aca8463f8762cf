// Reading aloud with the browser's own voice.

/** Read a text. `onWord` gets the index of each word as it is spoken; `onEnd` is called when the voice stops. */
export function speak(text, onWord, onEnd) {
  const utterance = new SpeechSynthesisUtterance(text);
  utterance.lang = "en";
  utterance.onboundary = (event) => {
    if (event.name !== "word" && event.name !== undefined) return;
    onWord(text.slice(0, event.charIndex).split(/\s+/).filter(Boolean).length);
  };
  utterance.onend = utterance.onerror = onEnd;
  speechSynthesis.cancel();
  speechSynthesis.speak(utterance);
}

export const isSpeaking = () => "speechSynthesis" in window && (speechSynthesis.speaking || speechSynthesis.pending);

export const stopSpeaking = () => {
  if ("speechSynthesis" in window) speechSynthesis.cancel();
};
