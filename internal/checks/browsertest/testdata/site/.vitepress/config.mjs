// The documentation site: the pages of docs/, with search. The sidebar is the list of docs/README.md.
import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'

const here = dirname(fileURLToPath(import.meta.url))
const docs = join(here, '../../../../../../docs')
const repository = 'https://github.com/acpterm/acpterm'

// sidebar reads the sections of docs/README.md and the pages in each.
function sidebar() {
  const sections = []
  for (const line of readFileSync(join(docs, 'README.md'), 'utf8').split('\n')) {
    const heading = line.match(/^## (.*)/)
    const page = line.match(/^(?:\d+\.|-) \[(.*?)\]\(([\w-]+)\.md\)/)
    if (heading) sections.push({ text: heading[1], items: [] })
    else if (page) sections.at(-1).items.push({ text: page[1], link: `/${page[2]}` })
  }
  return sections
}

// slugify makes the anchors of GitHub, which the pages link to.
const slugify = text => text.trim().toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').replace(/\s/g, '-')

// outside makes links to files outside docs/ links to the repository.
function outside(md) {
  md.core.ruler.push('outside', state => {
    for (const token of state.tokens.flatMap(token => token.children ?? [])) {
      const href = token.type === 'link_open' && token.attrGet('href')
      if (href && href.startsWith('../')) token.attrSet('href', `${repository}/blob/main/${normalize(join('docs', href))}`)
    }
  })
}

// The pages are outside this directory, so their imports do not find its modules.
const modules = join(here, '../node_modules')
const alias = [
  { find: /^vue\/server-renderer$/, replacement: join(modules, 'vue/server-renderer/index.mjs') },
  { find: /^vue$/, replacement: join(modules, 'vue/dist/vue.runtime.esm-bundler.js') },
]

export default defineConfig({
  title: 'acpterm',
  description: 'Run the commands of coding agents from Go',
  lang: 'en',
  srcDir: docs,
  outDir: process.env.SITE_OUT ?? join(here, 'dist'),
  cacheDir: join(here, 'cache'),
  rewrites: { 'README.md': 'index.md' },
  // Indented code scrolls, and long names break, so that no page is wider than a phone.
  head: [['style', {}, '.vp-doc pre{overflow-x:auto}.vp-doc :not(pre)>code{overflow-wrap:anywhere}']],
  markdown: { anchor: { slugify }, config: outside },
  vite: { resolve: { alias }, server: { fs: { allow: [join(docs, '..')] } } },
  themeConfig: {
    search: { provider: 'local' },
    sidebar: sidebar(),
    outline: 'deep',
    nav: [{ text: 'Packages', link: `${repository}#packages` }, { text: 'Changelog', link: `${repository}/blob/main/CHANGELOG.md` }],
    socialLinks: [{ icon: 'github', link: repository }],
  },
})
