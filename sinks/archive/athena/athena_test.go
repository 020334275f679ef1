package athena_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/archive/athena"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func parse(t testing.TB, src string) *template.Template {
	t.Helper()
	tmpl, err := template.Parse(src, template.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

func statements(t testing.TB, a athena.Archive) []athena.Statement {
	t.Helper()
	ss, err := athena.Statements(a)
	if err != nil {
		t.Fatal(err)
	}
	return ss
}

func TestStatements(t *testing.T) {
	mask, err := mask.New([]item.Pattern{mustPattern(t, "Email"), mustPattern(t, "Born")}, []byte("0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]athena.Archive{
		"plain_gzip":      {Sink: "plain", Location: "s3://b/p/", Tables: []string{"shop", "a.b"}, Options: archive.Options{Format: archive.JSONLGzip, Images: archive.PlainJSON, Partition: parse(t, "{@table}/{@op}")}},
		"odd_layouts":     {Sink: "Odd-Names", Database: "my`db", Location: "s3://b/it's", Options: archive.Options{Format: archive.Parquet, Partition: parse(t, "-x/{@time|date:2006}/m={@time|date:2006-01}/{@time|date:15:04}/{@time|date:Jan 2006}/t={@time|date:02T2006:01}")}},
		"injected":        {Sink: "byTenant", Location: "s3://b/", Filtered: true, Options: archive.Options{Format: archive.Parquet, Partition: parse(t, "Tenant={TenantId}/key={Email|lower}/born={Born|date:2006-01-02}/dt={CreatedAt|date:2006-01-02}"), Mask: mask, Columns: []archive.Column{{Name: "dt"}, {Name: "select"}}}},
		"only_kinds":      {Sink: "gone", Location: "s3://b/p", Options: archive.Options{Format: archive.Parquet, Kinds: []archive.Kind{archive.UserDelete, archive.TTLDelete}}},
		"per_item_newest": {Sink: "items", Location: "s3://b/", Options: archive.Options{Layout: archive.PerItem, Key: parse(t, "archive/{Type}/{PK}.json")}},
		"per_item":        {Sink: "items", Location: "s3://b/", StorageClass: "GLACIER", Options: archive.Options{Layout: archive.PerItem, Key: parse(t, "{PK}/{@version}.json"), Images: archive.PlainJSON}},
	} {
		var b strings.Builder
		for _, s := range statements(t, a) {
			checkStatement(t, s)
			fmt.Fprintf(&b, "-- %s\n", s.Name)
			for _, n := range s.Notes {
				fmt.Fprintf(&b, "-- %s\n", n)
			}
			fmt.Fprintf(&b, "%s;\n\n", s.SQL)
		}
		golden(t, name, b.String())
	}
}

func mustPattern(t *testing.T, src string) item.Pattern {
	t.Helper()
	p, err := item.ParsePattern(src)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".sql")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (rewrite it with -update):\n%s", file, d)
	}
}

// checkStatement checks a statement without an engine: All quotes are closed, parentheses match, and all words without
// quotes are known keywords, functions or types.
func checkStatement(t *testing.T, s athena.Statement) {
	t.Helper()
	word := regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.:]*`)
	ddl := strings.HasPrefix(s.SQL, "CREATE EXTERNAL TABLE")
	depth := 0
	for rest := s.SQL; rest != ""; {
		switch c := rest[0]; {
		case c == '\'' || c == '"' || c == '`':
			end := closing(rest, ddl)
			if end < 0 {
				t.Fatalf("%s: a quote is not closed: %.40s", s.Name, rest)
			}
			rest = rest[end:]
			continue
		case c == '(' || c == '<':
			depth++
		case c == ')' || c == '>':
			depth--
		case word.MatchString(rest):
			w := word.FindString(rest)
			if !known[w] {
				t.Errorf("%s: %s stands unquoted", s.Name, w)
			}
			rest = rest[len(w):]
			continue
		}
		if depth < 0 {
			t.Fatalf("%s: a parenthesis closes nothing: %.40s", s.Name, rest)
		}
		rest = rest[1:]
	}
	if depth != 0 {
		t.Errorf("%s: %d parentheses are not closed", s.Name, depth)
	}
}

// closing returns the index after the quoted text at the beginning of s, or -1 if the quote is not closed.
func closing(s string, ddl bool) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && ddl && s[0] == '\'':
			i++
		case s[i] == s[0] && i+1 < len(s) && s[i+1] == s[0] && (!ddl || s[0] != '\''):
			i++
		case s[i] == s[0]:
			return i + 1
		}
	}
	return -1
}

var known = func() map[string]bool {
	m := make(map[string]bool)
	for _, w := range strings.Fields(`CREATE EXTERNAL TABLE IF NOT EXISTS PARTITIONED BY STORED AS PARQUET ROW FORMAT SERDE WITH SERDEPROPERTIES LOCATION TBLPROPERTIES
		OR REPLACE VIEW SELECT FROM WHERE AND OVER PARTITION ORDER DESC CASE WHEN THEN ELSE END IN IS NULL CAST AT TIME ZONE ROW_NUMBER LIKE substr nullif
		string timestamp bigint double varchar json_format json_parse lpad floor coalesce to_unixtime from_unixtime from_iso8601_timestamp regexp_extract try
		struct type:string principal_id:string principalid:string typeapi:string principalidapi:string
		approximatecreationdatetime:string keys:string newimage:string oldimage:string sequencenumber:string sizebytes:string streamviewtype:string`) {
		m[w] = true
	}
	return m
}()

// The tables and views of different sinks have different names, whatever the names of the sinks are.
func TestNames(t *testing.T) {
	seen := make(map[string]string)
	for _, sink := range []string{"a", "A", "a_b", "a-b", "a__b", "a__2db", "a_2db", "_a", "a_", "a__", "a__once", "a__current", "a_once", "a once", "é", "select", "a`b", `a"b`, "1"} {
		for _, s := range statements(t, athena.Archive{Sink: sink, Location: "s3://b/p/"}) {
			name := strings.Trim(s.Name, "`\"")
			if other, ok := seen[name]; ok {
				t.Errorf("%q and %q both have %s", sink, other, name)
			}
			seen[name] = sink
			if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
				t.Errorf("%q becomes %s", sink, name)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	for want, a := range map[string]athena.Archive{
		"Sink":       {Location: "s3://b/"},
		`"b/p"`:      {Sink: "a", Location: "b/p"},
		"s3://b/${x": {Sink: "a", Location: "s3://b/${x}/"},
		"holds $":    {Sink: "a", Location: "s3://b/", Options: archive.Options{Partition: parse(t, "a${{b}}={PK}")}},
	} {
		if _, err := athena.Statements(a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one of %q", err, want)
		}
	}
}

func TestFrom(t *testing.T) {
	a := athena.Archive{Sink: "a", Location: "s3://b/", From: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC), Options: archive.Options{Partition: parse(t, "{@time|date:2006010215}")}}
	if sql := statements(t, a)[0].SQL; !strings.Contains(sql, "'2026112100,NOW+1DAYS'") || !strings.Contains(sql, "'yyyyMMddHH'") || !strings.Contains(sql, "'HOURS'") {
		t.Error(sql)
	}
}
