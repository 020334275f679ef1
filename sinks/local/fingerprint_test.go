package local_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/state"
)

const printed = `version: 1
name: shop
source: {table: shop}
sinks:
  orders:
    view: {table: views, key: {PK: 'A#{@key}'}, attributes: {total: '{Total}'}}
  products:
    search: {index: products}
  history:
    archive: {bucket: history}
  told:
    notify: {queue: told, events: [done]}
detect:
  done: {attribute: Status, to: done}
`

// fill writes a record to the sinks of a file, because a sink without output accepts other settings.
func fill(t *testing.T, dir, file string) {
	t.Helper()
	p, stores, err := assembled(t, dir, file)
	if err != nil {
		t.Fatal(err)
	}
	replayed(t, p, []string{`{"eventSourceARN":"arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678","eventName":"INSERT",` +
		`"dynamodb":{"SequenceNumber":"1","StreamViewType":"NEW_AND_OLD_IMAGES","Keys":{"PK":{"S":"a"}},"NewImage":{"PK":{"S":"a"},"Type":{"S":"Order"},"Status":{"S":"done"},"Total":{"N":"1"}}}}`})
	if err := stores.Close(); err != nil {
		t.Fatal(err)
	}
}

// If the output of a sink was written under other settings, Assemble refuses the sink, and the error names the
// settings. A new sink, a new name and settings that do not affect the output are accepted.
func TestAssemble_Fingerprints(t *testing.T) {
	for _, test := range []struct {
		old, new string // in the file
		sink     string
		setting  string // the setting that the error must name; "" if there must be no error
	}{
		{"A#{@key}", "B#{@key}", "orders", "view.key.PK"},
		{"{Total}", "{Sum}", "orders", "view.attributes.total"},
		{"table: views,", "table: views, when: 'item.Type == \"Order\"',", "orders", "view.when"},
		{"{index: products}", "{index: products, fields: {include: [Name]}}", "products", "search.fields.include"},
		{"{bucket: history}", "{bucket: history, images: plain_json}", "history", "archive.images"},
		{"events: [done]}", "events: [done], when: 'op == \"MODIFY\"'}", "told", "notify.when"},
		{"orders:", "orders_2:", "orders_2", ""},
		{"events: [done]}", "events: [done], concurrency: 2}", "told", ""},
		{"{table: views, key: {PK: 'A#{@key}'}, attributes: {total: '{Total}'}}", "{attributes: {total: '{Total}'}, table: views, key: {PK: 'A#{@key}'}}", "orders", ""},
	} {
		dir := t.TempDir()
		fill(t, dir, printed)
		if err := assemble(t, dir, printed); err != nil {
			t.Fatalf("the same file: %v", err)
		}
		file := strings.Replace(printed, test.old, test.new, 1)
		if file == printed {
			t.Fatalf("%q is not in the file", test.old)
		}
		err := assemble(t, dir, file)
		changed, refused := errors.AsType[*sinks.ChangedError](err)
		switch {
		case test.setting == "" && err != nil:
			t.Errorf("%s: %v", test.new, err)
		case test.setting == "":
		case !refused || changed.Sink != test.sink || !slices.ContainsFunc(changed.Settings, func(s string) bool { return strings.HasPrefix(s, test.setting) }):
			t.Errorf("%s: %v, want an error of the sink %s that names %s", test.new, err, test.sink, test.setting)
		case !strings.Contains(err.Error(), "tablewake.yaml:"):
			t.Errorf("%s: the error does not say where: %v", test.new, err)
		}
		if err := assemble(t, dir, printed); err != nil {
			t.Errorf("%s: the old file is refused after a new one: %v", test.new, err)
		}
	}
}

// A store that a program of another generation wrote is refused, because its rows and claims have another layout. The
// error says what to do.
func TestAssemble_Generations(t *testing.T) {
	for generation, want := range map[int]string{1: "`tablewake backfill`", 99: "use the newer program"} {
		dir := t.TempDir()
		fill(t, dir, printed)
		cfg, err := config.Parse("tablewake.yaml", []byte(printed), func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatal(err)
		}
		stores := open(t, dir)
		orders := cfg.Sinks[slices.IndexFunc(cfg.Sinks, func(s config.Sink) bool { return s.Name == "orders" })]
		store, err := stores.View(t.Context(), cfg, orders)
		if err != nil {
			t.Fatal(err)
		}
		prints := store.(state.Fingerprints)
		print, ok, err := prints.Fingerprint(t.Context(), cfg.Name, "orders")
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		print.Generation = generation
		if err := errors.Join(prints.SetFingerprint(t.Context(), print), stores.Close()); err != nil {
			t.Fatal(err)
		}
		if err := assemble(t, dir, printed); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "orders") {
			t.Errorf("generation %d: %v, want it to say %s", generation, err, want)
		}
	}
}

// A notify sink that has sent nothing accepts other settings, because no events of different settings can mix. A notify
// sink that may have sent events does not.
func TestAssemble_SuppressedSettings(t *testing.T) {
	for _, base := range []string{printed, printed + "state: {table: kept}\n"} {
		dir := t.TempDir()
		for i, attributes := range []string{"", ", attributes: [Total]", ", when: 'op == \"MODIFY\"'", ", attributes: [Status]", ", attributes: [Total]"} {
			file := strings.Replace(base, "events: [done]}", "events: [done]"+attributes+"}", 1)
			cfg, err := config.Parse("tablewake.yaml", []byte(file), func(string) (string, bool) { return "", false })
			if err != nil {
				t.Fatal(err)
			}
			var opts []sinks.Option
			if i < 3 {
				opts = append(opts, sinks.SuppressEvents("replay"))
			}
			stores := open(t, dir)
			_, err = sinks.Assemble(t.Context(), cfg, stores, opts...)
			err = errors.Join(err, stores.Close())
			if _, refused := errors.AsType[*sinks.ChangedError](err); refused != (i == 4) || err != nil && !refused {
				t.Errorf("%d, with %q: %v", i, attributes, err)
			}
		}
	}
}
