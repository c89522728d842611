// Command screenshots makes the pictures of docs/images from pages of folio.
//
//	folio run --count 10 --html run.html -- gofmt -l "$(go env GOROOT)/src/net"
//	go run ./cmd/bench/screenshots -out docs/images run.html tune.html ab.html
//
// Each page gives three: the top of it on a desktop in the light and in the dark, and on a
// phone. Needs Chromium.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// A look is how a page is looked at.
type look struct {
	name          string
	width, height int64
	theme         string
}

var looks = []look{{"light", 1280, 1500, "light"}, {"dark", 1280, 1500, "dark"}, {"phone", 390, 1300, "light"}}

func main() {
	out := flag.String("out", "docs/images", "directory of the pictures")
	scroll := flag.String("to", "", "show the page from the element that has this text in its heading")
	flag.Parse()
	if err := run(*out, *scroll, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "screenshots:", err)
		os.Exit(1)
	}
}

func run(out, to string, pages []string) error {
	if len(pages) == 0 {
		return errors.New("no pages: give files that --html wrote")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		return errors.New("no Chromium: apt-get install chromium")
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	ctx, stop := chromedp.NewExecAllocator(ctx, append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.NoSandbox)...)
	defer stop()
	ctx, end := chromedp.NewContext(ctx)
	defer end()
	for _, file := range pages {
		file, hash, _ := strings.Cut(file, "#")
		abs, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		if hash != "" {
			abs += "#" + hash
		}
		for _, l := range looks {
			name := strings.TrimSuffix(filepath.Base(file), ".html")
			if to != "" {
				name += "-" + strings.ToLower(strings.ReplaceAll(to, " ", "-"))
			}
			name = filepath.Join(out, name+"-"+l.name+".webp")
			data, err := shoot(ctx, "file://"+abs, to, l)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			if err := os.WriteFile(name, data, 0o644); err != nil {
				return err
			}
			fmt.Println(name, len(data)>>10, "KiB")
		}
	}
	return nil
}

func shoot(ctx context.Context, url, to string, l look) ([]byte, error) {
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.theme}}}); err != nil {
		return nil, err
	}
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(l.width, l.height), chromedp.Navigate("about:blank"), chromedp.Navigate(url)); err != nil {
		return nil, err
	}
	for ready := false; !ready; time.Sleep(50 * time.Millisecond) {
		var err error
		if ready, err = chromedp.Run(ctx, chromedp.Evaluate[bool](`document.documentElement.dataset.ready === 'yes'`)); err != nil {
			return nil, err
		}
	}
	if to != "" {
		found, err := chromedp.Run(ctx, chromedp.Evaluate[bool](fmt.Sprintf(
			`(() => { const h = [...document.querySelectorAll('h2')].find(h => h.textContent === %q); h?.scrollIntoView(); return !!h; })()`, to)))
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, fmt.Errorf("no heading %q", to)
		}
	}
	out, err := chromedp.Call(ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatWebp, Quality: new(int64(80))})
	if err != nil {
		return nil, err
	}
	return out.Data, nil
}
