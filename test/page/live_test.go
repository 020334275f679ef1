package page

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// awaited makes Evaluate wait for the promise that an expression returns.
func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// The page is live, a button pauses it, and a closed fold stays closed. The content security policy of the page refuses
// none of this.
func TestPage_Live(t *testing.T) {
	ctx := open(t)
	var refused []string
	chromedp.ListenTarget(ctx, func(event any) {
		if e, ok := event.(*log.EventEntryAdded); ok {
			refused = append(refused, e.Entry.Text)
		}
	})
	const mark = `document.getElementById("verdict").firstElementChild.remove(); document.getElementById("lineage-1-fold").open = false; true`
	var title, said string
	var open bool
	if err := chromedp.Run(ctx, log.Enable(), look(urls["well"], 1440, "light"), chromedp.Title(&title),
		chromedp.Click("#pause"), chromedp.Text("#live", &said), chromedp.Evaluate(mark, nil)); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(title, "Well · shop") || !strings.HasPrefix(said, "Paused at ") {
		t.Errorf("the title is %q, and a paused page says %q", title, said)
	}
	if err := chromedp.Run(ctx, chromedp.Click("#pause"), chromedp.Poll(`document.querySelector("#verdict .sentence") !== null`, nil),
		chromedp.Evaluate(`document.getElementById("lineage-1-fold").open`, &open), chromedp.Text("#live", &said)); err != nil {
		t.Fatalf("a page that continues brings nothing: %v", err)
	}
	if open || said != "Live" {
		t.Errorf("a fold that was closed is open (%v), or the page says %q", open, said)
	}
	for _, text := range refused {
		t.Errorf("the browser says %s", text)
	}
}

// A part that arrives while its text is selected is shown only after the selection has ended.
func TestPage_Selected(t *testing.T) {
	ctx := open(t)
	const begin = `
		document.querySelector("#verdict .sentence").remove();
		document.querySelector("#totals dl").remove();
		getSelection().selectAllChildren(document.getElementById("verdict"));
		document.getElementById("pause").click();
		document.getElementById("pause").click(); true` // a new stream sends all parts
	const sentence = `document.querySelector("#verdict .sentence") !== null`
	var replaced bool
	if err := chromedp.Run(ctx, look(urls["failing"], 1440, "light"), chromedp.Evaluate(begin, nil),
		chromedp.Poll(`document.querySelector("#totals dl") !== null`, nil), chromedp.Evaluate(sentence, &replaced)); err != nil {
		t.Fatal(err)
	}
	if replaced {
		t.Error("a part is replaced while its text is selected")
	}
	if err := chromedp.Run(ctx, chromedp.Evaluate(`getSelection().removeAllRanges()`, nil), chromedp.PollFunction(`() => `+sentence, nil, chromedp.WithPollingTimeout(5*time.Second))); err != nil {
		t.Errorf("a part that arrived meanwhile is not shown: %v", err)
	}
}

// The keyboard reaches everything that can be pressed, in the order of the page, and can press it.
func TestPage_Keyboard(t *testing.T) {
	ctx := open(t)
	var order []string
	if err := chromedp.Run(ctx, look(urls["failing"], 820, "light"), chromedp.ActionFunc(func(ctx context.Context) error {
		for range 6 {
			var at string
			if err := chromedp.Run(ctx, chromedp.KeyEvent(kb.Tab), chromedp.Evaluate(`document.activeElement.id || document.activeElement.textContent`, &at)); err != nil {
				return err
			}
			order = append(order, at)
		}
		return nil
	})); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(order, ", "); !strings.HasPrefix(got, "Skip to the status, pause, Refresh, sinks-here, ") {
		t.Errorf("Tab goes to %s", got)
	}
	var open bool
	if err := chromedp.Run(ctx, chromedp.Focus("#held-back-summary"), chromedp.KeyEvent(kb.Enter), chromedp.Evaluate(`document.getElementById("held-back-fold").open`, &open)); err != nil || !open {
		t.Errorf("Enter opens no fold: %v", err)
	}
}

// Without JavaScript the page is complete, and loads itself again.
func TestPage_WithoutScript(t *testing.T) {
	ctx := open(t)
	var text string
	if err := chromedp.Run(ctx, emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(urls["filling"]), chromedp.Text("body", &text)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Loads itself every 15 seconds", "All is well", "17,900,412", "about 1h"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(text, "Pause updates") {
		t.Error("a button is shown that nothing answers")
	}
	savePicture(t, ctx, "filling-without-script")
}
