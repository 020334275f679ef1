package page_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/fleet"
	"github.com/tablewake/tablewake/cmd/internal/health"
	"github.com/tablewake/tablewake/cmd/internal/page"
	"github.com/tablewake/tablewake/cmd/internal/page/pagetest"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/test/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

var update = flag.Bool("update", false, "rewrite the golden files")

// get returns the answer of a page to GET path.
func get(t testing.TB, o page.Options, path string) *httptest.ResponseRecorder {
	t.Helper()
	p := page.New(o)
	defer p.Close()
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

func html(t testing.TB, s page.Status) string {
	t.Helper()
	w := get(t, pagetest.Options(s), "/")
	if w.Code != http.StatusOK {
		t.Fatalf("/ is answered by %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// The whole page of each state is as in its golden file.
func TestPage_Golden(t *testing.T) {
	for name, s := range pagetest.States() {
		file := filepath.Join("testdata", name+".html")
		got := html(t, s)
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s is another page: look at it, then run go test ./cmd/internal/page -update", name)
		}
	}
}

// A browser loads only the files of the page itself. No script and no style is inline, and nothing comes from
// elsewhere.
func TestPage_LoadsNothingFromElsewhere(t *testing.T) {
	o := pagetest.Options(pagetest.Failing())
	for _, path := range []string{"/", "/page.css", "/page.js", "/icon.svg"} {
		w := get(t, o, path)
		policy := w.Header().Get("Content-Security-Policy")
		if w.Code != http.StatusOK || !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
			t.Errorf("%s: %d with the policy %q", path, w.Code, policy)
		}
		for _, h := range []string{"X-Content-Type-Options", "Referrer-Policy", "Cache-Control"} {
			if w.Header().Get(h) == "" {
				t.Errorf("%s has no %s", path, h)
			}
		}
		if path == "/icon.svg" {
			continue // its namespace is a URL
		}
		for _, wrong := range []string{"http://", "https://", "url(", "@import", " style=", "<style", "onclick"} {
			if strings.Contains(w.Body.String(), wrong) {
				t.Errorf("%s has %q", path, wrong)
			}
		}
	}
	for _, path := range []string{"/other", "/page.html", "/assets/page.css"} {
		if w := get(t, o, path); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	p := page.New(o)
	defer p.Close()
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequest(method, "/", nil))
		if w.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s /: %d", method, w.Code)
		}
	}
}

// The page says that functions without a problem are well, and how old their records are.
func TestPage_Functions(t *testing.T) {
	age := 0.8
	obs := fleet.Observation{
		Pipeline: "shop", At: pagetest.Now, Unconfigured: "shop.yaml", Tables: []string{"shop"},
		Functions: []fleet.Function{{Name: "shop-pipeline", IteratorAge: &age, Mappings: []fleet.Mapping{
			{ID: "5e1", Source: "arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026", State: "Enabled", Result: "OK"},
		}}},
	}
	r := obs.Report()
	body := html(t, page.Status{Fleet: &r})
	for _, want := range []string{"1 function carries the changes.", ">800ms<", ">23h59m<", `<h2 id="consumers-title">Functions</h2>`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page has no %s", want)
		}
	}
}

// Without JavaScript the page loads itself again, unless it is paused.
func TestPage_WithoutScript(t *testing.T) {
	o := pagetest.Options(pagetest.Well())
	const reload = `<noscript><meta http-equiv="refresh"`
	body := get(t, o, "/").Body.String()
	if !strings.Contains(body, reload) || !strings.Contains(body, `<a href="?paused">Pause</a>`) || !strings.Contains(body, `<a href=".">Refresh</a>`) {
		t.Error("the page does not load itself again, or cannot be paused")
	}
	if body := get(t, o, "/?paused").Body.String(); strings.Contains(body, reload) || !strings.Contains(body, `<a href=".">Resume</a>`) {
		t.Error("a paused page loads itself again, or cannot be resumed")
	}
}

// Names and errors that come from elsewhere are shown as text, wherever the page shows them.
func TestPage_HostileNames(t *testing.T) {
	const evil = "<script>alert(1)</script>`<b onload=x>`\"'&{{.}}"
	s := pagetest.Failing()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	quoted, _ := json.Marshal(evil)
	text := string(b)
	for _, name := range []string{"shop-1-7f3a", "shop-2-c09d", "search", "orders", "OpenSearch answers 429 Too Many Requests: the queue of writes is full", "records behind 1400 were lost", "write", "backoff", "replication"} {
		text = strings.ReplaceAll(text, `"`+name+`"`, string(quoted))
	}
	text = regexp.MustCompile(`"(text|hint|arn)":"`).ReplaceAllString(text, `${0}`+strings.Trim(string(quoted), `"`))
	var hostile page.Status
	if err := json.Unmarshal([]byte(text), &hostile); err != nil {
		t.Fatal(err)
	}
	o := pagetest.Options(hostile)
	o.Pipeline, o.Flags = evil, evil
	body := get(t, o, "/").Body.String()
	if strings.Count(body, "<script") != 1 || strings.Contains(body, "<b ") || strings.Contains(body, "alert(1)<") {
		t.Error("a name became HTML")
	}
	if n := strings.Count(body, "&lt;script&gt;"); n < 20 {
		t.Errorf("the name is shown %d times", n)
	}
}

// An unknown number is never shown as zero.
func TestPage_Unknown(t *testing.T) {
	value := regexp.MustCompile(`<dt>([^<]+) <span[^>]*>[^<]*</span></dt><dd class="value[^"]*">([^<]*)`)
	for name, s := range map[string]page.Status{
		"nothing":    {},
		"starting":   {Verdict: &health.Verdict{Live: true, State: health.Starting, Reasons: []string{"it is starting"}}},
		"a failure":  {FleetError: "no answer"},
		"a function": {Fleet: &fleet.Report{At: pagetest.Now, Healthy: true, NoConsumersReason: "no consumer is configured"}},
	} {
		values := value.FindAllStringSubmatch(html(t, s), -1)
		if len(values) == 0 {
			t.Errorf("%s has no totals", name)
		}
		for _, v := range values {
			if v[2] == "0" && v[1] != "Gaps" || v[2] == "0s" || v[2] == "" {
				t.Errorf("%s: %s is %q", name, v[1], v[2])
			}
		}
	}
	old := pagetest.Well()
	old.Consumer, old.Verdict = nil, nil
	old.Fleet.At = pagetest.Now.Add(-time.Hour)
	if body := html(t, old); !strings.Contains(body, "Nothing is known yet: a look is under way.") {
		t.Error("a report of an hour ago is shown")
	}
	p := pagetest.Well()
	p.Consumer.Lag, p.Consumer.ReadRate, p.Consumer.Sinks[0].Rate = nil, nil, nil
	p.Fleet = nil
	body := html(t, p)
	for _, want := range []string{`Behind by <span class="scope">this process</span></dt><dd class="value dim">unknown`, `First loss in <span class="scope">all</span></dt><dd class="value dim">unknown`, `<td class="dim n">unknown</td>`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not say %s", want)
		}
	}
}

// After a failed look, no panel says that a look is running.
func TestPage_FailedLook(t *testing.T) {
	s := pagetest.Well()
	s.Fleet, s.FleetError = nil, "no answer"
	body := html(t, s)
	if strings.Contains(body, "under way") || strings.Count(body, "nknown: the last look failed") != 4 {
		t.Errorf("%d panels say that the last look failed", strings.Count(body, "nknown: the last look failed"))
	}
}

// If a table leaves out rows, it says how many.
func TestPage_MoreRows(t *testing.T) {
	r := fleet.Report{At: pagetest.Now, Letters: &fleet.Letters{Sinks: map[string]int{}, Reasons: map[string]int{}, Keys: map[string]int{}}, HeldBackMore: 30}
	name := func(n int) string { return fmt.Sprint("n", n) }
	for n := range 101 {
		r.Sinks = append(r.Sinks, fleet.Sink{FailingSink: state.FailingSink{Sink: name(n)}})
	}
	for n := range 102 {
		r.HeldBack = append(r.HeldBack, fleet.HeldBack{Shard: name(n)})
	}
	for n := range 103 {
		r.Letters.Sinks[name(n)] = 1
	}
	for n := range 104 {
		r.Letters.Reasons[name(n)] = 1
	}
	for n := range 105 {
		r.Letters.Keys[name(n)] = 1
	}
	for n := range 106 {
		r.Consumers = append(r.Consumers, fleet.Consumer{Worker: name(n)})
	}
	for n := range 107 {
		r.Gaps = append(r.Gaps, fleet.Gap{Shard: name(n)})
	}
	body := html(t, page.Status{Fleet: &r})
	for _, want := range []string{"and 1 more", "32 of them are not listed", "and 3 more", "and 4 more", "and 5 more", "and 6 more", "and 7 more"} {
		if !strings.Contains(body, ">"+want+"<") {
			t.Errorf("the page does not say %s", want)
		}
	}
}

// The page marks the time before a loss as bad if it is shorter than --loss-within.
func TestPage_LossWithin(t *testing.T) {
	obs := fleet.Observation{
		Pipeline: "shop", At: pagetest.Now, Unconfigured: "shop.yaml", Tables: []string{"shop"},
		Functions: []fleet.Function{{Name: "shop-pipeline", IteratorAge: new(float64(13 * 3600)), Mappings: []fleet.Mapping{
			{ID: "5e1", Source: "arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026", State: "Enabled", Result: "OK"},
		}}},
	}
	for within, want := range map[time.Duration]string{4 * time.Hour: `value ">11h0m`, 12 * time.Hour: `value bad">11h0m`} {
		obs.Urgent = within
		r := obs.Report()
		if body := html(t, page.Status{Fleet: &r}); !strings.Contains(body, want) {
			t.Errorf("within %v the page does not say %s", within, want)
		}
	}
}

// Large numbers are exact, and each panel says which processes it covers.
func TestPage_Exact(t *testing.T) {
	body := html(t, pagetest.Failing())
	for _, want := range []string{"48,211,904", "10,000 changes pending", "1,204,330", "this process</span>", "all</span>", "tablewake redrive -c shop.yaml --live --list", "(this process)", "21h39m ago"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// /status has the same data as the page, because both use one struct.
func TestPage_StatusIsTheSame(t *testing.T) {
	s := pagetest.Failing()
	p := page.New(pagetest.Options(s))
	defer p.Close()
	got, err := json.Marshal(p.StatusOf(*s.Verdict))
	if err != nil {
		t.Fatal(err)
	}
	want, _ := json.Marshal(s)
	if string(got) != string(want) {
		t.Errorf("/status says\n%s\nwant\n%s", got, want)
	}
	var names map[string]any
	if err := json.Unmarshal(got, &names); err != nil || names["state"] != "stuck" || names["consumer"].(map[string]any)["worker"] != "shop-1-7f3a" || names["fleet"].(map[string]any)["healthy"] != false {
		t.Errorf("/status says %s, %v", got, err)
	}
}

// The page shows the worst of 10,000 shards, and counts all of them.
func TestPage_ManyShards(t *testing.T) {
	s := pagetest.Many(10_000)
	start := time.Now()
	body := html(t, s)
	t.Logf("10,000 shards: %d bytes in %v", len(body), time.Since(start))
	if len(body) >= 1_000_000 {
		t.Errorf("the page of 10,000 shards has %d bytes", len(body))
	}
	for _, want := range []string{"9,797 being read", "199 without an owner", "Lineage, shards 1 to 100", "are not shown here", "and 4,898 more"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

func BenchmarkPage_10000Shards(b *testing.B) {
	s := pagetest.Many(10_000)
	for b.Loop() {
		html(b, s)
	}
}

// The page of a consumer does not count dead letters. It shows the changes that this process dead-lettered. The page of
// a fleet shows the number of messages in a queue.
func TestPage_LettersNeedAttention(t *testing.T) {
	s := pagetest.Well()
	k := s.Consumer.Ledger.Sinks["orders"]
	k.DeadLettered, k.Written = 3, k.Written-3
	s.Consumer.Ledger.Sinks["orders"] = k
	late, recent := pagetest.Now.Add(-2*time.Hour), pagetest.Now.Add(-time.Minute)
	s.Consumer.LastLetter = &late
	if body := html(t, s); !strings.Contains(body, "All is well") {
		t.Error("letters of two hours ago may be redriven, and need attention")
	}
	s.Consumer.LastLetter = &recent
	for _, want := range []string{"3 changes went to dead letters since this consumer started", "tablewake redrive " + pagetest.Flags + " --list"} {
		if body := html(t, s); !strings.Contains(body, want) || strings.Contains(body, "All is well") {
			t.Errorf("the page does not say %s", want)
		}
	}
	obs := fleet.Observation{Pipeline: "shop", Flags: pagetest.Flags, At: pagetest.Now, Letters: &fleet.Letters{Queued: 2}}
	r := obs.Report()
	if body := html(t, page.Status{Fleet: &r}); !strings.Contains(body, "bout 2 changes are in the queue of dead letters") {
		t.Error("the page does not show the messages of a queue")
	}
}
