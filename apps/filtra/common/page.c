/* Writes HTML pages and their style sheet, escapes text, and formats numbers. Called by report/,
 * compare/ and analyze/. */
#include "common/page.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* ---- text ---- */

static bool is_control(char c) {
  return (unsigned char)c < 0x20 || c == 0x7f;
}

void page_text(FILE *to, const char *text) {
  for (; *text; text++) {
    switch (*text) {
    case '<':
      fputs("&lt;", to);
      break;
    case '>':
      fputs("&gt;", to);
      break;
    case '&':
      fputs("&amp;", to);
      break;
    case '"':
      fputs("&quot;", to);
      break;
    default:
      fputc(is_control(*text) ? ' ' : *text, to);
    }
  }
}

void markdown_text(FILE *to, const char *text) {
  for (; *text; text++) {
    if (strchr("|\\`*<[", *text)) fputc('\\', to);
    fputc(is_control(*text) ? ' ' : *text, to);
  }
}

/* ---- numbers ---- */

static const char *dash(char out[NUMBER_TEXT]) {
  snprintf(out, NUMBER_TEXT, "–");
  return out;
}

const char *amount_text(double value, char out[NUMBER_TEXT]) {
  static const char *const UNITS[] = {"", " k", " M", " G"};
  size_t unit = 0;
  if (!isfinite(value)) return dash(out);
  for (; value >= 999.5 && unit + 1 < sizeof UNITS / sizeof *UNITS; unit++)
    value /= 1000.0;
  int digits = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  snprintf(out, NUMBER_TEXT, "%.*f%s", digits, value, UNITS[unit]);
  return out;
}

const char *rate_text(double value, char out[NUMBER_TEXT]) {
  return number_text(value >= 99.95 && value < 1e15 ? "%.0f" : "%.3g", value, out);
}

const char *memory_text(double bytes, char out[NUMBER_TEXT]) {
  if (!isfinite(bytes)) return dash(out);
  if (bytes < 1024.0 * 1048576.0)
    snprintf(out, NUMBER_TEXT, "%.0f MiB", bytes / 1048576.0);
  else
    snprintf(out, NUMBER_TEXT, "%.1f GiB", bytes / (1024.0 * 1048576.0));
  return out;
}

const char *seconds_text(double seconds, char out[NUMBER_TEXT]) {
  static const char *const UNITS[] = {"s", "ms", "µs", "ns"};
  size_t unit = 0;
  if (!isfinite(seconds)) return dash(out);
  for (; seconds > 0.0 && seconds < 0.9995 && unit + 1 < sizeof UNITS / sizeof *UNITS; unit++)
    seconds *= 1000.0;
  int digits = seconds >= 99.95 ? 0 : seconds >= 9.995 ? 1 : 2;
  snprintf(out, NUMBER_TEXT, "%.*f %s", digits, seconds, UNITS[unit]);
  return out;
}

const char *number_text(const char *format, double value, char out[NUMBER_TEXT]) {
  if (!isfinite(value)) return dash(out);
  snprintf(out, NUMBER_TEXT, format, value);
  return out;
}

const char *perplexity_text(double perplexity, char out[NUMBER_TEXT]) {
  return number_text(perplexity < LARGE_PERPLEXITY ? "%.2f" : "%.4g", perplexity, out);
}

/* ---- pages ---- */

/* The colours are those of Okabe and Ito, which colour-blind readers can tell apart; the darkest
 * and palest are replaced by ones visible on both backgrounds. */
static const char STYLE[] =
    ":root{color-scheme:light dark;--ink:#1c2430;--soft:#5c6675;--line:#d9dee5;--paper:#fff;"
    "--card:#f6f8fa}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--soft:#9aa4b2;--line:#333b47;"
    "--paper:#12161c;--card:#1a2028}}\n"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);"
    "margin:2rem auto;max-width:1360px;padding:0 1rem;overflow-wrap:break-word}\n"
    "h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}\n"
    ".charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,380px),1fr));"
    "gap:1rem;align-items:start}.wide+.charts{margin-top:1rem}\n"
    "figure{margin:0;min-width:0;background:var(--card);border-radius:8px;padding:.8rem 1rem}\n"
    "figcaption{font-weight:600}figcaption.legend{font-weight:400;font-size:.85rem}\n"
    ".legend span{margin-right:1em;display:inline-block;max-width:100%}\n"
    "i:empty{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin-right:.35em;"
    "background:var(--c)}\n"
    "svg{width:100%;height:auto;display:block}svg text{font-size:13px;fill:var(--soft)}\n"
    "svg.key{display:inline-block;width:.9em;height:.9em;margin-right:.25em;"
    "vertical-align:-.08em}\n"
    "text.x{text-anchor:middle}text.y{text-anchor:end}text.label,text.note{fill:var(--ink)}\n"
    "svg text.note{font-size:12px;paint-order:stroke;stroke:var(--card);stroke-width:3px}\n"
    ".grid{stroke:var(--line)}.tick{stroke:var(--soft)}\n"
    ".line{fill:none;stroke:var(--c);stroke-width:2;stroke-linejoin:round}\n"
    ".d1 .line{stroke-dasharray:7 3}.d2 .line{stroke-dasharray:2 3}\n"
    ".d1 i:empty{background:repeating-linear-gradient(90deg,var(--c) 0 4px,transparent 4px 6px)}"
    ".d2 i:empty{background:repeating-linear-gradient(90deg,var(--c) 0 2px,transparent 2px 4px)}\n"
    "rect,.mark{fill:var(--c)}.limit{--c:var(--ink)}"
    ".limit .line{stroke-dasharray:5 3}.band{fill:var(--c);opacity:.18}\n"
    ".spread{stroke:var(--ink);fill:none}\n"
    ".c0{--c:#0072b2}.c1{--c:#e69f00}.c2{--c:#009e73}.c3{--c:#cc79a7}.c4{--c:#d55e00}"
    ".c5{--c:#56b4e9}.c6{--c:#8a7a00}.c7{--c:#7f7f7f}\n"
    "@media(prefers-color-scheme:dark){.c0{--c:#3b93d9}.c5{--c:#a5dbff}}\n"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.3em .8em;border-bottom:1px solid var(--line);text-align:right}\n"
    "th:first-child,td:first-child,.text{text-align:left}p{max-width:70ch}\n"
    ".wide{overflow-x:auto;font-size:.9rem}.wide td:not(.text){white-space:nowrap}\n"
    ".wide td,.wide th{padding:.3em .6em}td.long,th.long{font-size:.8rem;min-width:8em}"
    ".wide td.text{overflow-wrap:anywhere}\n"
    "nav{display:flex;flex-wrap:wrap;gap:.2rem 1rem}nav a,a{color:inherit}\n"
    "tr.first td{border-top:1px solid var(--soft)}td.machine{white-space:nowrap}\n"
    "th.number:first-child{text-align:right}td.case{vertical-align:top;min-width:9em}\n"
    "td.lack{color:var(--soft);font-style:italic;min-width:14em}small{color:var(--soft)}\n"
    ".warning{border-left:4px solid #d55e00;background:var(--card);padding:.6rem 1rem;"
    "margin:1rem 0}.warning ul{margin:.3rem 0 0;padding-left:1.2rem}\n"
    "details{margin-top:1rem}summary{cursor:pointer;font-weight:600}h3{font-size:1rem}\n"
    ".beside{display:flex;flex-wrap:wrap;gap:1rem 2rem;align-items:start}"
    ".beside figure{flex:0 1 420px;min-width:min(100%,320px)}.beside .wide{flex:1 1 420px;"
    "min-width:0}\n"
    "@media(max-width:600px){td.machine{white-space:normal;min-width:8em}td.case{min-width:6em}"
    "body{margin:1rem auto;padding:0 .6rem}figure{padding:.6rem .5rem}}\n";

void page_begin(FILE *to, const char *title) {
  fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        "<meta name=\"viewport\" content=\"width=device-width\">\n<title>",
        to);
  page_text(to, title);
  fprintf(to, "</title>\n<style>\n%s</style></head>\n<body><h1>", STYLE);
  page_text(to, title);
  fputs("</h1>\n", to);
}

void page_end(FILE *to) {
  fputs("</body></html>\n", to);
}
