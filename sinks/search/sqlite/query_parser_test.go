package sqlite_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/sinks/search/sqlite"
)

// Search understands the query language that the package comment describes.
func TestQueries(t *testing.T) {
	s := open(t, t.TempDir())
	apply(t, s,
		mutation("a", 1, `{"title":"The Red Shoe","Price":49.5,"Tags":["sale item","new"],"CreatedAt":"2026-01-02T03:04:05+01:00","Address":{"City":"Köln"},"first name":"Ada","live":true,"long":"0.12345678901234567890123456789"}`),
		mutation("b", 1, `{"title":"Blue shoe x-1","Price":-20,"Lines":[{"sku":"x-1","qty":2},{"sku":"x-2","qty":12}],"CreatedAt":"2026-02-02","live":false,"n":12345678901234567890123456789012345678}`),
		mutation("c", 1, `{"title":"shoestring: a/b, 東京都 かな カナ ไทย","Price":1e3,"n":12345678901234567890123456789012345679,"_id":"q","zip":"020","a":{"b":"nested"},"a.b":"flat","AND":"operator"}`),
		mutation("d", 1, `{"title":"cafe\u0301 Straße ÉTÉ naïve","Price":"49.5","CreatedAt":"no date","empty":"","none":null}`),
	)
	for query, want := range map[string]string{
		"shoe":               "a b",
		"SHOE blue":          "a b",
		"sho*":               "a b c",
		"title:sho*":         "a b c",
		`"red sho"*`:         "a",
		`"item new"`:         "", // the words are in two elements
		`"sale item"`:        "a",
		"x-1":                "b",
		`"x 2"`:              "b",
		"Lines.sku:x-2":      "b",
		"Lines.qty:>10":      "b",
		"Lines.qty:12":       "b",
		"12":                 "b", // in any field
		"Price:49.50":        "a",
		"Price:>49.5":        "c",
		"Price:>=49.5":       "a c", // a text does not match
		"Price:<0":           "b",
		"Price:<=-20":        "b",
		"Price:1000":         "c",
		"+Price:>-100 -shoe": "c",
		"n:>=12345678901234567890123456789012345679":        "c", // all digits count
		"n:12345678901234567890123456789012345678":          "b",
		"long:>0.1234567890123456789":                       "a",
		"zip:020":                                           "c",
		"zip:20":                                            "",
		"CreatedAt:<2026-01-02T02:04:06Z":                   "a",
		"CreatedAt:<2026-01-02T02:04:05Z":                   "",
		`CreatedAt:>="2026-02-02"`:                          "b",
		`+CreatedAt:>"2026-01-01" +CreatedAt:<"2027-01-01"`: "a b",
		"CreatedAt:2026-01-02":                              "a", // that day
		"CreatedAt:2026-01-02T03:04:05+01:00":               "a",
		"CreatedAt:2026-01-02T02:04:05Z":                    "a",
		"2026-02-02":                                        "b",
		"CreatedAt:2026-01-0*":                              "a",
		"live:true":                                         "a",
		"live:false":                                        "b",
		"Price:-20":                                         "b",
		"+-20":                                              "b",
		`"_exists_":x`:                                      "",
		`"tit*":x`:                                          "",
		`title:"!red"`:                                      "a",
		"-live:true":                                        "b c d",
		"+shoe -red -nothing":                               "b",
		"+shoe red":                                         "a b",
		"+title:shoe +live:true":                            "a",
		`first\ name:ada`:                                   "a",
		`"first name":ada`:                                  "a",
		"a.b:flat":                                          "c",
		"a.b:nested":                                        "c",
		"a:nested":                                          "",
		"_id:q":                                             "c",
		"東":                                                 "c",
		"京都":                                                "c",
		"都東":                                                "",
		"かな":                                                "c",
		"カナ":                                                "c",
		"カ":                                                 "", // a sequence of Katakana is one word
		"カ*":                                                "c",
		"ไท":                                                "c",
		"köln":                                              "a",
		"koln":                                              "", // diacritics are kept
		"KÖLN":                                              "a",
		"été":                                               "d",
		"naive":                                             "",
		"straße":                                            "d",
		"caf\u0065\u0301":                                   "d",
		`title:shoestring\:`:                                "c",
		"a/b":                                               "c",
		`"AND"`:                                             "",
		"AND:operator":                                      "c",
		"_tw.version:1":                                     "",
		"nowhere:>1":                                        "",
		`"` + strings.Repeat("z", 300) + ` shoe"`: "a b",
	} {
		got := ids(t, s, "docs", query)
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%s finds %q, want %q", query, got, want)
		}
	}
	// Documents with rarer words, or with more of the words, come first.
	if got := ids(t, s, "docs", "shoe x 1 blue"); !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("best first: %q", got)
	}
}

// A query that uses unsupported syntax is refused. The error names the syntax and its column.
func TestQueries_Refused(t *testing.T) {
	s := open(t, t.TempDir())
	apply(t, s, mutation("a", 1, `{"title":"x"}`))
	for query, want := range map[string]string{
		"shoe~":                   "5: fuzzy",
		"red shoe~2":              "9: fuzzy",
		`title:"a b"~2`:           "10: fuzzy",
		"!red":                    "1: ! is not an operator",
		"+!red":                   "2: ! is not an operator",
		"!title:red":              "1: ! is not an operator",
		"title:!red":              "7: ! is not an operator",
		"+-red":                   "2: - stands before",
		"--red":                   "2: - stands before",
		"title:-red":              "7: - stands before",
		"-+title:red":             "2: + stands before",
		"_exists_:title":          "1: _exists_",
		"-_exists_:title":         "2: _exists_",
		"tit*:red":                "4: the wildcard * in the name of a field",
		"t?tle:red":               "2: the wildcard ? in the name of a field",
		"*:*":                     "1: the wildcard * in the name of a field",
		"(title:red)":             "1: groups",
		"/a title:red/":           "1: regular expressions",
		"title:/a b/":             "7: regular expressions",
		"title^2:red":             "6: boosts",
		"/sh.e/":                  "1: regular expressions",
		"title:/sh.e/":            "7: regular expressions",
		"shoe^2":                  "5: boosts",
		"title:shoe^0.5":          "11: boosts",
		"(red shoe)":              "1: groups",
		"red AND shoe":            "5: AND is not an operator",
		"red OR shoe":             "5: OR is not an operator",
		"NOT shoe":                "1: NOT is not an operator",
		"red && shoe":             "5: && is not an operator",
		"Price:[1 TO 2]":          "7: ranges in brackets",
		"Price:{1 TO 2}":          "7: ranges in brackets",
		"sh?e":                    "3: the wildcard ?",
		"s*e":                     "2: the wildcard *",
		"title:*":                 "7: the wildcard *",
		"red *":                   "1: * alone",
		"red + shoe":              "5: + stands alone",
		"-":                       "1: - stands alone",
		":x":                      "1: the name of a field",
		"title: x":                "7: what the field title",
		"title:":                  "7: what the field title",
		`"red shoe`:               "1: the quote is not closed",
		`a "`:                     "3: the quote is not closed",
		`red\`:                    "4: nothing follows the backslash",
		"Price:>":                 "8: > is followed by neither",
		"Price:>=cheap":           "9: >= is followed by neither",
		"Price:>=2026-13-01":      "9: >= is followed by neither",
		">10":                     "1: > needs a field",
		"ü ;;;":                   `3: ";;;" has no letters`,
		"title:+":                 `7: "+" has no letters`,
		strings.Repeat("a ", 101): "201: it has more than 100 parts",
	} {
		_, err := s.Search(t.Context(), "docs", query, 0)
		bad, ok := errors.AsType[*sqlite.QueryError](err)
		if !ok {
			t.Errorf("%s: %v, want a QueryError", query, err)
			continue
		}
		if got := fmt.Sprintf("%d: %s", bad.Column, bad.Text); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// The score of a document depends only on the current documents of its index. It does not depend on replaced documents
// or on other indexes.
func TestScoresAreOfWhatThereIs(t *testing.T) {
	const last = 3
	found := func(history int) string {
		s := open(t, t.TempDir())
		for n := last - history; n <= last; n++ {
			for i := range 20 {
				doc := fmt.Sprintf(`{"title":"shoe %d of round %d","note":"red"}`, i%4, n)
				m := mutation(fmt.Sprint(i), n, doc)
				other := m
				if other.Index = "other"; n < last {
					apply(t, s, m, other)
				} else {
					apply(t, s, m)
				}
			}
		}
		hits, err := s.Search(t.Context(), "docs", "shoe 1 red", 7)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%+v", hits)
	}
	if one, three := found(0), found(2); one != three {
		t.Errorf("written once:\n%s\nwritten three times:\n%s", one, three)
	}
}

// No query makes a statement that SQLite refuses.
func FuzzQuery(f *testing.F) {
	for _, q := range []string{`a "b c" +d:e -f:>1 g*`, `x'y"z`, `"a" AND "b"`, "a\x00b", "NEAR(a b)", "words:a", `\"`, "a:\"b\"c", "{a}", "^a", "é*"} {
		f.Add(q)
	}
	s, err := openIn(f.Context(), f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := s.Close(); err != nil {
			f.Error(err)
		}
	})
	if _, err := s.Apply(f.Context(), mutations(1)); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, query string) {
		_, err := s.Search(t.Context(), "docs", query, 0)
		if _, bad := errors.AsType[*sqlite.QueryError](err); err != nil && !bad {
			t.Errorf("%q: %v", query, err)
		}
	})
}

// A query finds exactly the current documents that match it, after any sequence of puts, replacements and deletes.
func TestWhatIsFound(t *testing.T) {
	words, paths := []string{"a", "b", "c"}, []string{"p", "q.r", "q.s"}
	rapid.Check(t, func(rt *rapid.T) {
		s := open(t, t.TempDir())
		type content struct{ words, numbers map[string]bool } // keys are a path and a value
		is := make(map[string]content)
		version := 0
		for range rapid.IntRange(1, 12).Draw(rt, "calls") {
			batch := make([]string, 0, 4)
			var names []string
			for range rapid.IntRange(1, 4).Draw(rt, "documents") {
				id := rapid.SampledFrom([]string{"1", "2", "3"}).Draw(rt, "id")
				if rapid.IntRange(0, 4).Draw(rt, "gone") == 0 {
					names, batch = append(names, id), append(batch, "")
					delete(is, id)
					continue
				}
				c := content{make(map[string]bool), make(map[string]bool)}
				var fields []string
				for _, path := range paths {
					var values []string
					for range rapid.IntRange(0, 2).Draw(rt, "values") {
						if rapid.Bool().Draw(rt, "number") {
							n := rapid.IntRange(0, 2).Draw(rt, "n")
							c.numbers[fmt.Sprint(path, n)] = true
							values = append(values, fmt.Sprint(n))
						} else {
							w := rapid.SampledFrom(words).Draw(rt, "word")
							c.words[path+w] = true
							values = append(values, fmt.Sprintf("%q", w))
						}
					}
					list := "[" + strings.Join(values, ",") + "]"
					if top, inner, nested := strings.Cut(path, "."); nested {
						list = fmt.Sprintf(`%q:[{%q:%s}]`, top, inner, list)
						if inner == "s" && len(fields) > 1 { // q.r and q.s are in one map
							fields[1] = strings.TrimSuffix(fields[1], "]") + "," + strings.TrimPrefix(list, `"q":[`)
							continue
						}
					} else {
						list = fmt.Sprintf("%q:%s", path, list)
					}
					fields = append(fields, list)
				}
				is[id] = c
				names, batch = append(names, id), append(batch, "{"+strings.Join(fields, ",")+"}")
			}
			ms := mutations(1)[:0]
			for i, doc := range batch {
				version++
				m := mutation(names[i], version, doc)
				if doc == "" {
					m = tombstone(names[i], version)
				}
				ms = append(ms, m)
			}
			apply(t, s, ms...)
		}
		if err := s.Create(t.Context(), "docs"); err != nil {
			rt.Fatal(err)
		}
		expect := func(query string, has func(c content) bool) {
			want := []string{}
			for id, c := range is {
				if has(c) {
					want = append(want, id)
				}
			}
			slices.Sort(want)
			got := ids(t, s, "docs", query)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				rt.Fatalf("%s finds %q, want %q", query, got, want)
			}
		}
		expect("*", func(content) bool { return true })
		for _, path := range paths {
			for _, w := range words {
				expect(path+":"+w, func(c content) bool { return c.words[path+w] })
				expect(fmt.Sprintf("-%s:%s", path, w), func(c content) bool { return !c.words[path+w] })
				for _, v := range words {
					expect(fmt.Sprintf("+%s:%s +q.r:%s", path, w, v), func(c content) bool { return c.words[path+w] && c.words["q.r"+v] })
				}
			}
			for n := range 3 {
				expect(fmt.Sprintf("%s:%d", path, n), func(c content) bool { return c.numbers[fmt.Sprint(path, n)] })
				expect(fmt.Sprintf("%s:>%d", path, n), func(c content) bool {
					return n < 2 && c.numbers[path+"2"] || n < 1 && c.numbers[path+"1"]
				})
			}
		}
	})
}
