/** Upload progress: by XMLHttpRequest where a page has it, since `fetch` reports none; elsewhere at start and end. */
export type Progress = (done: number, total: number) => void;

const sizeOf = (body: unknown): number =>
  body instanceof Blob ? body.size
  : body instanceof FormData ? [...body.values()].reduce((sum, each) => sum + (typeof each === "string" ? each.length : each.size), 0)
  : String(body ?? "").length;

/** As `fetch`, with `onProgress`. A redirect is refused: its answer is one that redirects. */
export async function sendByXhr(url: string, init: RequestInit, onProgress: Progress = () => {}): Promise<Response> {
  if (typeof XMLHttpRequest === "undefined") {
    const total = sizeOf(init.body);
    onProgress(0, total);
    const answer = await fetch(url, init);
    onProgress(total, total);
    return answer;
  }
  return new Promise((resolve, reject) => {
    const xhr = new XMLHttpRequest(), stop = () => xhr.abort();
    xhr.open(init.method!, url);
    xhr.responseType = "blob";
    for (const [name, value] of Object.entries(init.headers as Record<string, string>)) xhr.setRequestHeader(name, value);
    xhr.upload.onprogress = ({ loaded, total }) => onProgress(loaded, total);
    xhr.onload = () => {
      if (xhr.responseURL && xhr.responseURL !== url) return resolve(new Response(null, { status: 302 }));
      const lines = xhr.getAllResponseHeaders().trim().split("\r\n");
      const headers = lines.map((line): [string, string] => [line.split(":")[0]!, line.slice(line.indexOf(":") + 1).trim()]);
      resolve(new Response(xhr.status === 204 ? null : xhr.response, { status: xhr.status, headers }));
    };
    xhr.onerror = xhr.onabort = () => reject(new TypeError("The request failed"));
    xhr.onloadend = () => init.signal?.removeEventListener("abort", stop);
    init.signal?.addEventListener("abort", stop);
    xhr.send(init.body as XMLHttpRequestBodyInit);
  });
}
