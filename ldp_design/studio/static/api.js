/** Requests to the studio's server; an error carries the sentence that the server gives. */

async function send(method, path, body, type) {
  let response;
  try {
    response = await fetch(path, { method, body, headers: body === undefined ? {} : { "Content-Type": type } });
  } catch {
    throw new Error("");
  }
  if (response.ok) return response;
  const { message } = await response.json().catch(() => ({ message: "" }));
  throw new Error(message);
}

export const get = async (path) => (await send("GET", path)).json();
export const post = async (path, body = {}) =>
  (await send("POST", path, JSON.stringify(body), "application/json")).json();
export const postFile = async (path, file) => (await send("POST", path, file, "application/octet-stream")).json();
export const download = async (path) => (await send("POST", path, "{}", "application/json")).blob();

/** Call a function with each line of a JSON stream, while it arrives. */
export async function readLines(path, take, signal) {
  const response = await fetch(path, { signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) take(JSON.parse(line));
  }
}
