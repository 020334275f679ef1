package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
)

// sink returns a file with one custom sink whose keys are body, in flow style.
func sink(body string) string {
	return "version: 1\nname: p\nsource: {table: t}\nsinks:\n  s: {" + body + "}\n"
}

func parse(t *testing.T, text string) *config.Config {
	t.Helper()
	cfg, err := config.Parse("t.yaml", []byte(text), getenv)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return cfg
}

// refused returns the problems of a file that has some.
func refused(t *testing.T, text string) config.Problems {
	t.Helper()
	_, err := config.Parse("t.yaml", []byte(text), getenv)
	ps, ok := errors.AsType[config.Problems](err)
	if !ok || len(ps) == 0 {
		t.Fatalf("error is %v, want problems with\n%s", err, text)
	}
	return ps
}

func TestLoad(t *testing.T) {
	t.Setenv("TABLEWAKE_TEST_TABLE", "orders")
	file := filepath.Join(t.TempDir(), "tablewake.yaml")
	text := strings.Replace(sink("custom: {name: c}"), "{table: t}", "{table: '${TABLEWAKE_TEST_TABLE}'}", 1)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.File != file || cfg.Source.Tables[0].Name != "orders" {
		t.Errorf("file %q, tables %v", cfg.File, cfg.Source.Tables)
	}
	if _, err := config.Load(file + ".absent"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent file: %v, want ErrNotExist", err)
	}
}

// ParseFrom reads the files that a configuration refers to through a function. The function gets each path as the
// configuration writes it.
func TestParseFrom(t *testing.T) {
	text := sink("search: {index: i, mapping: maps/products.json}")
	asked := ""
	cfg, err := config.ParseFrom("s3://bucket/tablewake.yaml", []byte(text), getenv, func(path string) ([]byte, error) {
		asked = path
		return []byte(`{"properties": {}}`), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(cfg.Sinks[0].Search.Mapping); asked != "maps/products.json" || got != `{"properties":{}}` || cfg.File != "s3://bucket/tablewake.yaml" {
		t.Errorf("asked for %q, mapping %s of %s", asked, got, cfg.File)
	}
	_, err = config.ParseFrom("s3://bucket/tablewake.yaml", []byte(text), getenv, func(string) ([]byte, error) { return nil, errors.New("access denied") })
	if err == nil || !strings.Contains(err.Error(), "sinks.s.search.mapping: the mapping cannot be read: access denied") {
		t.Errorf("error %v", err)
	}
}

func TestSpecs(t *testing.T) {
	cfg, err := load(t, "testdata/good/state.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Name != "shop" || len(cfg.Sinks) != 3 || len(cfg.Filters) != 2 {
		t.Fatalf("got %+v", cfg)
	}
	if src := cfg.Source; len(src.Tables) != 1 || src.Tables[0].Name != "shop" || src.Tables[0].StreamARN != "" {
		t.Errorf("source %+v", src)
	}
	orders := cfg.Sinks[0]
	if orders.Name != "orders_by_status" || orders.Line != 9 || orders.Rate != 50.5 || orders.Concurrency != 2 ||
		orders.Batch != (config.Batch{Count: 100, Bytes: 1 << 20, Linger: 250 * time.Millisecond}) {
		t.Errorf("sink %+v", orders)
	}
	v := orders.View
	if v == nil || v.Table.Name != "shop-views" || orders.WhenItem.String() != `item.Type == "Order"` || len(v.Key) != 2 || len(v.Attributes) != 3 {
		t.Fatalf("view %+v", v)
	}
	if v.Key[0].Name != "PK" || v.Key[1].Template.String() != "{CreatedAt|date:2006-01-02}#{@key}" || v.Attributes[2].Name != "kind" {
		t.Errorf("columns %+v %+v", v.Key, v.Attributes)
	}
	s := cfg.Sinks[1].Search
	if s == nil || s.Index.String() != "products" || len(s.Fields.Include) != 3 || s.Fields.Rename["Name"] != "title" || s.Fields.Numbers["Price"] != "scaled_float" {
		t.Errorf("search %+v", s)
	}
	if d := cfg.DeadLetters; d == nil || d.Dir != "dead" || !d.BlockUndecodable {
		t.Errorf("dead letters %+v", d)
	}
	if names := []string{cfg.Filters[0].Name, cfg.Filters[1].Name}; names[0] != "keep_op" || names[1] != "keep_any" {
		t.Errorf("filters are counted by %q", names)
	}
}

func TestArchiveAndNotifySpecs(t *testing.T) {
	cfg, err := load(t, "testdata/good/shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	deleted, history, completed := cfg.Sinks[0].Archive, cfg.Sinks[1].Archive, cfg.Sinks[2].Notify
	if !deleted.PerItem || len(deleted.Kinds) != 2 || deleted.Kinds[1] != "ttl_delete" || deleted.Images != "dynamodb_json" ||
		deleted.Key.String() != "archive/{Type}/{PK}/{SK}/{@version}.json" {
		t.Errorf("deleted %+v", deleted)
	}
	if history.Prefix != "changes/" || history.Roll != (config.Roll{Bytes: 64e6, Age: 5 * time.Minute}) || history.Kinds != nil {
		t.Errorf("history %+v", history)
	}
	if completed.Queue != environment["COMPLETED_QUEUE"] || len(completed.Events) != 2 {
		t.Errorf("notify %+v", completed)
	}
	if len(cfg.Detectors) != 2 || cfg.Detectors[0].Name != "order_completed" || cfg.Detectors[0].Detector == nil {
		t.Errorf("detectors %+v", cfg.Detectors)
	}
	if cfg.Attributes["Tags"] != item.KindSS || cfg.Attributes["Total"] != item.KindN {
		t.Errorf("attributes %v", cfg.Attributes)
	}
	if cfg.Source.TTLAttribute != "expiresAt" {
		t.Errorf("source %+v", cfg.Source)
	}
}

func TestSizesAndDurations(t *testing.T) {
	for text, want := range map[string]int64{
		"1B": 1, "3KB": 3000, "3kB": 3000, "64MB": 64_000_000, "2GB": 2e9, "1TB": 1e12,
		"1KiB": 1024, "64MiB": 64 << 20, "1GiB": 1 << 30, "2TiB": 2 << 40, "'${COUNT}MB'": 7e6,
	} {
		if got := parse(t, sink("custom: {name: c, batch: {bytes: "+text+"}}")).Sinks[0].Batch.Bytes; got != want {
			t.Errorf("%s is %d, want %d", text, got, want)
		}
	}
	for text, want := range map[string]time.Duration{
		"0s": 0, "250ms": 250 * time.Millisecond, "90s": 90 * time.Second, "15m": 15 * time.Minute, "1h": time.Hour,
	} {
		if got := parse(t, sink("custom: {name: c, batch: {linger: "+text+"}}")).Sinks[0].Batch.Linger; got != want {
			t.Errorf("%s is %v, want %v", text, got, want)
		}
	}
	if got := parse(t, sink("custom: {name: c}")+"state: {table: s, guard_retention: 30d}\n").State.GuardRetention; got != 720*time.Hour {
		t.Errorf("30d is %v", got)
	}
	for _, bad := range []string{
		"bytes: 64", "bytes: 64mb", "bytes: 64 MB", "bytes: 1.5MB", "bytes: -1MB", "bytes: 0B", "bytes: 99999999TiB", "bytes: 99999999999999999999B",
		"linger: 5", "linger: 5 s", "linger: 1h30m", "linger: 1.5h", "linger: -1s", "linger: 5y", "linger: 999999999d",
	} {
		ps := refused(t, sink("custom: {name: c, batch: {"+bad+"}}"))
		if len(ps) != 1 || !strings.HasPrefix(ps[0].Field, "sinks.s.custom.batch.") {
			t.Errorf("%s: %v", bad, ps)
		}
	}
}

// YAML 1.2 has fewer special words than YAML 1.1: yes, on and the like are text.
func TestYAML12(t *testing.T) {
	for _, text := range []string{"yes", "no", "on", "off", "y", "N", "2006-01-02", "1_000", "0b1", "12:30:45"} {
		cfg := parse(t, strings.Replace(sink("archive: {prefix: "+text+"}"), "name: p", "name: on", 1))
		if got := cfg.Sinks[0].Archive.Prefix; got != text || cfg.Name != "on" {
			t.Errorf("%s is %q in a pipeline named %q", text, got, cfg.Name)
		}
	}
	for text, want := range map[string]int{"0o17": 15, "0x1f": 31, "017": 17, "+3": 3} {
		if got := parse(t, sink("custom: {name: c, concurrency: "+text+"}")).Sinks[0].Concurrency; got != want {
			t.Errorf("%s is %d, want %d", text, got, want)
		}
	}
	for _, text := range []string{"true", "False", "null", "~", "5", "0.5", "1e3", ".inf"} {
		if ps := refused(t, sink("archive: {prefix: "+text+"}")); len(ps) != 1 {
			t.Errorf("%s as text: %v", text, ps)
		}
	}
	if cfg := parse(t, sink("archive: {prefix: !!str 5}")); cfg.Sinks[0].Archive.Prefix != "5" {
		t.Errorf("!!str 5 is %q", cfg.Sinks[0].Archive.Prefix)
	}
}

// An alias stands for a whole value. The total size of all aliases is limited.
func TestAnchors(t *testing.T) {
	cfg := parse(t, "version: 1\nname: p\nsource: {table: t}\nsinks:\n  a: &s {custom: {name: c}}\n  b: *s\n")
	if len(cfg.Sinks) != 2 || cfg.Sinks[1].Name != "b" || cfg.Sinks[1].Custom.Name != "c" {
		t.Errorf("sinks %+v", cfg.Sinks)
	}
	laughs := "version: 1\nname: p\nsource: {table: t}\nx0: &x0 [a]\n"
	for i := range 9 {
		l := strings.TrimSuffix(strings.Repeat("*x"+string(rune('0'+i))+", ", 10), ", ")
		laughs += "x" + string(rune('1'+i)) + ": &x" + string(rune('1'+i)) + " [" + l + "]\n"
	}
	ps := refused(t, laughs+"sinks: {s: {custom: {name: c, with: *x9}}}\n")
	if last := ps[len(ps)-1]; !strings.Contains(ps.Error(), "more than 20000 values") || len(ps) > 20 {
		t.Errorf("%d problems, the last %v", len(ps), last)
	}
	if ps := refused(t, sink("custom: {name: c, with: &w {self: *w}}")); !strings.Contains(ps.Error(), "deeper than") {
		t.Errorf("an anchor within itself: %v", ps)
	}
}

// A file without ttl_attribute gets no warning that it may mean an attribute with a name of one letter.
func TestParse_NoTTLAttribute(t *testing.T) {
	cfg := parse(t, "attributes: {N: N}\n"+sink("view: {table: v, key: {PK: '{N}', SK: '{@key}'}}")+"state: {table: s}\n")
	if len(cfg.Warnings) > 0 {
		t.Errorf("warnings: %v", cfg.Warnings)
	}
}

// The default of a secret is accepted for embedded sinks only.
func TestParse_SecretByDefault(t *testing.T) {
	text := "state: {table: states}\nhmac_key: '${KEY:-no secret, for saved records}'\nsensitive: [Email]\n" +
		sink("view: {table: views, key: {PK: '{N}', SK: '{@key}'}}")
	for key, want := range map[string]int{"": 1, "a secret of sixteen bytes": 0} {
		cfg, err := config.Parse("t.yaml", []byte(text), func(string) (string, bool) { return key, key != "" })
		if err != nil {
			t.Fatal(err)
		}
		if len(cfg.NotLive) != want || len(cfg.Warnings) != want || len(cfg.LocalOnly) > 0 {
			t.Errorf("with %q: %v, %v, %v", key, cfg.NotLive, cfg.Warnings, cfg.LocalOnly)
		}
	}
}
