package page

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/tablewake/tablewake/test/server"
)

// picturesEnv is a variable of the environment. It names the folder for pictures; without it no pictures are taken.
const picturesEnv = "TABLEWAKE_TEST_PICTURES"

var (
	widths  = []int64{360, 820, 1440} // a phone, a tablet, a desktop
	schemes = []string{"light", "dark"}
)

// urls has the addresses of the page, by state.
var urls = map[string]string{}

// script is the text of axe-core.
var script string

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// run builds and starts the program that serves the states, and runs the tests.
func run(m *testing.M) (int, error) {
	ctx := context.Background()
	if _, err := browser(); err != nil {
		return 1, err
	}
	path, err := server.Axe(ctx)
	if err != nil {
		return 1, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return 1, err
	}
	script = string(text)
	dir, err := os.MkdirTemp("", "page")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "preview")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/internal/page/preview")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("%w\n%s", err, out)
	}
	serve := exec.CommandContext(ctx, program)
	in, err := serve.StdinPipe()
	if err != nil {
		return 1, err
	}
	out, err := serve.StdoutPipe()
	if err != nil {
		return 1, err
	}
	if err := serve.Start(); err != nil {
		return 1, err
	}
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != ""; { // an empty line ends the addresses
		url := lines.Text()
		parts := strings.Split(strings.TrimSuffix(url, "/"), "/")
		urls[parts[len(parts)-1]] = url
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	code := m.Run()
	_ = in.Close()
	return code, serve.Wait()
}

// browser returns the path of Chromium.
func browser() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("this machine lacks chromium; install it: apt-get install -y --no-install-recommends chromium")
}

// open returns a tab of a new browser. The browser is closed at the end of the test.
func open(t *testing.T) context.Context {
	t.Helper()
	path, err := browser()
	if err != nil {
		t.Fatal(err)
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU)
	allocated, cancelBrowser := chromedp.NewExecAllocator(t.Context(), options...)
	tab, cancelTab := chromedp.NewContext(allocated)
	timed, cancel := context.WithTimeout(tab, 3*time.Minute)
	t.Cleanup(func() {
		cancel()
		cancelTab()
		cancelBrowser()
	})
	return timed
}

// look shows a page with this width and colour scheme. It waits until the page is live.
func look(url string, width int64, scheme string) chromedp.Tasks {
	return chromedp.Tasks{
		emulation.SetDeviceMetricsOverride(width, 900, 1, width < 500),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		chromedp.Navigate(url),
		chromedp.Poll(`document.getElementById("live").textContent === "Live"`, nil),
	}
}

// violation is a finding of axe-core.
type violation struct {
	ID    string
	Help  string
	Nodes []struct {
		HTML    string
		Summary string `json:"failureSummary"`
	}
}

// axe checks the page with axe-core, by all rules of WCAG 2.2 AA and of good practice.
func axe(found *[]violation) chromedp.Tasks {
	const run = `axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}).then(r => JSON.stringify(r.violations))`
	return chromedp.Tasks{chromedp.Evaluate(script+"; true", nil), chromedp.ActionFunc(func(ctx context.Context) error {
		var text string
		if err := chromedp.Evaluate(run, &text, chromedp.EvalAsValue, awaited).Do(ctx); err != nil {
			return err
		}
		return json.Unmarshal([]byte(text), found)
	})}
}

// savePicture saves a picture of the whole page, if there is a folder for pictures.
func savePicture(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	dir := os.Getenv(picturesEnv)
	if dir == "" {
		return
	}
	var picture []byte
	if err := chromedp.Run(ctx, chromedp.FullScreenshot(&picture, 100)); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644); err != nil {
		t.Fatal(err)
	}
}

// axe-core finds no problem with the page in any state, width and scheme. The page is never wider than its window.
func TestPage_Axe(t *testing.T) {
	ctx := open(t)
	for _, state := range slices.Sorted(maps.Keys(urls)) {
		for _, width := range widths {
			for _, scheme := range schemes {
				var found []violation
				var wide bool
				if err := chromedp.Run(ctx, look(urls[state], width, scheme),
					chromedp.Evaluate(`document.querySelectorAll("details").forEach(d => d.open = true); document.documentElement.scrollWidth > innerWidth`, &wide), axe(&found)); err != nil {
					t.Fatalf("%s, %d, %s: %v", state, width, scheme, err)
				}
				for _, v := range found {
					t.Errorf("%s, %d, %s: %s: %s", state, width, scheme, v.ID, v.Help)
					for _, n := range v.Nodes {
						t.Logf("%s\n%s", n.HTML, n.Summary)
					}
				}
				if wide {
					t.Errorf("%s, %d, %s: the page is wider than its window", state, width, scheme)
				}
				savePicture(t, ctx, fmt.Sprintf("%s-%d-%s", state, width, scheme))
			}
		}
	}
}
