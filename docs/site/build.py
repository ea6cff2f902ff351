"""Makes a static site of the README and of all pages that it leads to. Ends with 1 if a link is dead."""

import html
import os
import re
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path

from markdown_it import MarkdownIt

STYLE = """
body { margin: 0; display: flex; font: 16px/1.55 system-ui, sans-serif; color: #1c1e21; background: #fff }
nav { flex: 0 0 15rem; padding: 1.5rem; border-right: 1px solid #ddd; font-size: 14px; min-height: 100vh; box-sizing: border-box }
nav a { display: block; padding: .15rem 0; color: #444; text-decoration: none } nav a.here { font-weight: 600; color: #000 }
main { padding: 1.5rem 2.5rem; max-width: 56rem; min-width: 0 }
pre { background: #f5f6f7; padding: .8rem; overflow-x: auto; border-radius: 4px; line-height: 1.4 } code { font-size: 14px } td code { overflow-wrap: anywhere }
table { border-collapse: collapse; display: block; overflow-x: auto } td, th { border: 1px solid #ddd; padding: .3rem .6rem; text-align: left; vertical-align: top }
img { max-width: 100% } a { color: #0b57d0 }
@media (max-width: 50rem) { body { display: block } nav { border: 0; min-height: 0 } main { padding: 1rem } }
@media (prefers-color-scheme: dark) { body { background: #17181a; color: #dcdee0 } nav { border-color: #333 } nav a { color: #aaa } nav a.here { color: #fff }
  pre { background: #222426 } td, th { border-color: #3a3c3e } a { color: #8ab4f8 } img { background: #fff } }
"""


def anchored(tokens):
    """Gives each heading its anchor, by the rule of the site that shows these files in the repository."""
    seen = {}
    for heading, inline in zip(tokens, tokens[1:]):
        if heading.type == "heading_open":
            text = "".join(part.content for part in inline.children)
            slug = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
            count = seen[slug] = seen.get(slug, -1) + 1
            heading.attrSet("id", f"{slug}-{count}" if count else slug)
    return tokens


def site_path(path):
    """Where a file of the repository is on the site."""
    if path.name == "README.md":
        return path.with_name("index.html")
    return path.with_suffix(".html") if path.suffix == ".md" else path


class Links(HTMLParser):
    """The links of a page, and the places in it that links can name."""

    def __init__(self, text):
        super().__init__()
        self.links, self.ids = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name == "id":
                self.ids.add(value)


class Site:
    def __init__(self, root, out):
        self.root, self.out = root, out
        self.markdown = MarkdownIt("commonmark").enable("table")
        self.pages = {}  # file of the repository -> HTML of its text
        self.files = set()

    def is_outside(self, link):
        return re.match(r"[a-z]+:", link) is not None

    def read(self, path):
        """Converts a page, and those that it leads to. What is missing is found at the end, as a dead link."""
        if path in self.pages:
            return
        text = (self.root / path).read_text(encoding="utf-8")
        self.pages[path] = ""
        body = self.markdown.renderer.render(anchored(self.markdown.parse(text)), self.markdown.options, {})
        self.pages[path] = re.sub(
            r'(href|src)="([^"]*)"', lambda found: f'{found[1]}="{self.follow(path, found[2])}"', body
        )

    def follow(self, page, link):
        """The link as it is on the site."""
        target, mark, fragment = link.partition("#")
        if not target or self.is_outside(link):
            return link
        there = Path(os.path.normpath(page.parent / html.unescape(target)))
        if (self.root / there / "README.md").is_file():
            there = there / "README.md"
        if there.suffix == ".md" and (self.root / there).is_file():
            self.read(there)
        elif (self.root / there).is_file():
            self.files.add(there)
        return os.path.relpath(site_path(there), page.parent) + mark + fragment

    def title(self, path):
        """The text of a page's first heading."""
        heading = re.search(r"<h1[^>]*>(.*?)</h1>", self.pages[path])
        return re.sub(r"<[^>]*>", "", heading[1]) if heading else path.stem

    def navigation(self, here):
        """The pages that the README's table lists, in its order."""
        readme = (self.root / "README.md").read_text(encoding="utf-8")
        listed = re.findall(r"^\| \[[^\]]+\]\(([^)]+\.md)\)", readme, re.MULTILINE)
        lines = []
        for path in map(Path, ["README.md"] + listed):
            mark = ' class="here"' if path == here else ""
            target = os.path.relpath(site_path(path), here.parent)
            lines.append(f'<a href="{html.escape(target)}"{mark}>{self.title(path)}</a>')
        return "\n".join(lines)

    def write(self):
        for path, body in self.pages.items():
            page = self.out / site_path(path)
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(
                f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{self.title(path)}</title>\n'
                f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>{STYLE}</style></head>\n'
                f"<body><nav>\n{self.navigation(path)}\n</nav><main>\n{body}\n</main></body></html>\n",
                encoding="utf-8",
            )
        for path in self.files:
            (self.out / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.root / path, self.out / path)

    def dead_links(self):
        """The links of what was written that lead nowhere."""
        pages = {page: Links(page.read_text(encoding="utf-8")) for page in self.out.rglob("*.html")}
        dead = []
        for page, found in pages.items():
            for link in found.links:
                target, _, fragment = html.unescape(link).partition("#")
                if self.is_outside(link):
                    continue
                there = page if not target else Path(os.path.normpath(page.parent / target))
                is_there = there.is_file() and (not fragment or there not in pages or fragment in pages[there].ids)
                if not is_there:
                    dead.append(f"{page.relative_to(self.out)}: {link}")
        return dead


def main(root, out):
    site = Site(Path(root).resolve(), Path(out).resolve())
    site.read(Path("README.md"))
    for page in sorted((site.root / "docs").glob("*.md")):
        site.read(page.relative_to(site.root))
    for extra in sorted((site.root / "docs" / "grafana").iterdir()):
        site.files.add(extra.relative_to(site.root))
    site.write()
    dead = site.dead_links()
    for link in dead:
        print(f"dead link in {link}", file=sys.stderr)
    unlisted = [str(page) for page in site.pages if page.parent == Path("docs") and f"({page})" not in (site.root / "README.md").read_text()]
    for page in unlisted:
        print(f"the README does not list {page}", file=sys.stderr)
    print(f"{len(site.pages)} pages in {out}, begin with index.html")
    return 1 if dead or unlisted else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
