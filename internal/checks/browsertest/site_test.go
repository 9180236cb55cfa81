package browsertest

// The documentation site, built from docs/ and read in Chromium.

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// buildSite builds the site in a temporary directory.
func buildSite(t *testing.T) fs.FS {
	const site = "testdata/site"
	if _, err := os.Stat(filepath.Join(site, "node_modules", "vitepress")); err != nil {
		if os.Getenv("ACPTERM_REQUIRE_SITE") != "" {
			t.Fatal("ACPTERM_REQUIRE_SITE is set, and `npm ci --prefix internal/checks/browsertest/testdata/site` has not run")
		}
		t.Skip("`npm ci --prefix internal/checks/browsertest/testdata/site` has not run")
	}
	out := t.TempDir()
	build := exec.CommandContext(t.Context(), "npm", "run", "build")
	build.Dir, build.Env = site, append(os.Environ(), "SITE_OUT="+out)
	text, err := build.CombinedOutput()
	require.NoError(t, err, "%s", text)
	return os.DirFS(out)
}

var (
	siteLink = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	siteID   = regexp.MustCompile(`\bid="([^"]*)"`)
)

// Every page of docs/ is in the site, and every link within the site leads to a page and a heading.
func requireSiteLinks(t *testing.T, site fs.FS) (pages []string) {
	sources, err := filepath.Glob("../../../docs/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	text, ids := make(map[string]string), make(map[string]map[string]bool)
	for _, source := range sources {
		name := strings.TrimSuffix(filepath.Base(source), ".md") + ".html"
		if name == "README.html" {
			name = "index.html"
		}
		html, err := fs.ReadFile(site, name)
		require.NoError(t, err)
		pages = append(pages, name)
		text[name], ids[name] = string(html), make(map[string]bool)
		for _, id := range siteID.FindAllStringSubmatch(text[name], -1) {
			ids[name][id[1]] = true
		}
	}
	for _, page := range pages {
		for _, found := range siteLink.FindAllStringSubmatch(text[page], -1) {
			link, err := url.Parse(found[1])
			require.NoError(t, err)
			if link.Host != "" || link.Scheme != "" {
				continue
			}
			target := strings.TrimPrefix(path.Join("/", link.Path), "/")
			switch {
			case link.Path == "":
				target = page
			case target == "":
				target = "index.html"
			}
			_, err = fs.Stat(site, target)
			require.NoError(t, err, "%s links to %s", page, found[1])
			if link.Fragment != "" && ids[target] != nil {
				require.True(t, ids[target][link.Fragment], "%s links to %s", page, found[1])
			}
		}
	}
	return pages
}

func TestSite(t *testing.T) {
	findChromium(t)
	site := buildSite(t)
	pages := requireSiteLinks(t, site)
	server := httptest.NewServer(http.FileServerFS(site))
	t.Cleanup(server.Close)
	b := startBrowser(t)

	// Each page fits a phone and a desktop.
	p := b.open(t, server.URL+"/", look("light", 360, 740, 1))
	for _, width := range []int64{360, 1280} {
		p.run(look("light", width, 740, 1))
		for _, name := range pages {
			p.run(chromedp.Navigate(server.URL + "/" + name))
			p.until(`document.querySelector('main h1, .vp-doc h1')`)
			require.LessOrEqual(t, eval[int64](p, `document.documentElement.scrollWidth`), width, "%s at %d", name, width)
		}
	}

	// The sidebar has every page but the index.
	p.run(chromedp.Navigate(server.URL + "/faq.html"))
	p.until(`document.querySelectorAll('.VPSidebar a').length >= 10`)
	require.EqualValues(t, len(pages)-1, eval[int64](p, `document.querySelectorAll('.VPSidebar a').length`))

	// The dark theme is dark.
	background := `getComputedStyle(document.body).backgroundColor`
	require.Equal(t, "rgb(255, 255, 255)", eval[string](p, background))
	p.run(chromedp.Evaluate[chromedp.Void](`document.querySelector('.VPSwitchAppearance').click()`))
	p.until(background + ` !== 'rgb(255, 255, 255)'`)

	// The search finds a word and opens its page.
	p.until(`document.querySelector('#local-search button, .DocSearch-Button')`)
	p.run(chromedp.Evaluate[chromedp.Void](`document.querySelector('#local-search button, .DocSearch-Button').click()`))
	p.until(`document.activeElement?.matches('.search-input')`)
	p.press("subreaper")
	p.until(`document.querySelector('.results .result')?.href.includes('limits')`)
	p.press(kb.Enter)
	p.until(`location.pathname.endsWith('/limits.html')`)
}
