package archive_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/archive"
)

func tags(t *testing.T, kv ...string) []archive.TagTemplate {
	t.Helper()
	var ts []archive.TagTemplate
	for i := 0; i < len(kv); i += 2 {
		ts = append(ts, archive.TagTemplate{Key: kv[i], Value: parse(t, kv[i+1])})
	}
	return ts
}

func TestTagsOfItems(t *testing.T) {
	store := &memory{}
	s := newSink(t, archive.Options{Store: store, Layout: archive.PerItem, Key: parse(t, "{PK}/{@version}"), Tags: tags(t, "tenant", "{PK}", "kind", "change of {@table}", "none", "{Missing?}", "gone", "x{Missing}")})
	mustWrite(t, s, changes(t, line("INSERT", "a=#ü", 1, ""))...)
	got := store.put[0].Tags
	want := []archive.Tag{{Key: "tenant", Value: "a=3D=23ü"}, {Key: "kind", Value: "change of shop"}}
	if !slices.Equal(got, want) {
		t.Errorf("tags %q, want %q", got, want)
	}
}

// All changes in an object of the log layout have the same tags. If a tag is the table, each object therefore has
// changes of one table only.
func TestTagsOfALog(t *testing.T) {
	store := &memory{}
	other := strings.Replace(line("INSERT", "b", 1, ""), "table/shop/", "table/other/", 1)
	one := newSink(t, archive.Options{Store: store, Tags: tags(t, "team", "orders")})
	mustWrite(t, one, changes(t, line("INSERT", "a", 1, ""), other)...)
	if len(store.put) != 1 || !slices.Equal(store.put[0].Tags, []archive.Tag{{Key: "team", Value: "orders"}}) {
		t.Errorf("objects %+v", store.put)
	}
	two := newSink(t, archive.Options{Store: store, Prefix: "by/", Tags: tags(t, "table", "{@table}")})
	mustWrite(t, two, changes(t, line("INSERT", "a", 1, ""), other)...)
	if len(store.put) != 3 || store.put[1].Tags[0].Value != "other" || store.put[2].Tags[0].Value != "shop" {
		t.Errorf("objects %+v", store.put[1:])
	}
}

// Different texts become different tag values, and S3 accepts each value.
func TestTagValues(t *testing.T) {
	text := rapid.OneOf(rapid.StringMatching(`[a=#Ä\x01 ]{1,6}`), rapid.StringMatching(`[a#]{200,300}`), rapid.StringN(1, 8, -1))
	s := newSink(t, archive.Options{Store: &memory{}, Layout: archive.PerItem, Key: parse(t, "{@key}/{@version}"), Tags: tags(t, "t", "{PK}")})
	rapid.Check(t, func(rt *rapid.T) {
		value := func(label string) (tag, of string) {
			of = text.Draw(rt, label)
			rec := `{"eventName":"REMOVE","dynamodb":{"SequenceNumber":"1","Keys":{"PK":` + string(item.StringValue(of).AppendDynamoDBJSON(nil)) + `}},"eventSourceARN":"` + arn + `"}`
			d := pipeline.Delivery{Change: change(t, rec, record.DecoderOptions{})}
			if err := s.Plan(&d); err != nil {
				rt.Fatal(err)
			}
			return d.Ops[0].(*archive.Put).Tags[0].Value, of
		}
		one, of1 := value("one")
		two, of2 := value("two")
		if (one == two) != (of1 == of2) {
			rt.Fatalf("%q becomes %q, and %q %q", of1, one, of2, two)
		}
		if n := utf8.RuneCountInString(one); n == 0 || n > 256 || strings.ContainsAny(one, "#\x01") {
			rt.Fatalf("a tag of %d characters: %q", n, one)
		}
	})
}

func TestTagsThatAreRefused(t *testing.T) {
	many := tags(t, "a", "1", "b", "2", "c", "3", "d", "4", "e", "5", "f", "6", "g", "7", "h", "8", "i", "9", "j", "0", "k", "1")
	for want, o := range map[string]archive.Options{
		"takes 10 tags, and these are 11": {Tags: many},
		`"a" is there twice`:              {Tags: tags(t, "a", "1", "a", "2")},
		`"#" is not a key of a tag`:       {Tags: tags(t, "#", "1")},
		`"aws:x" is not a key of a tag`:   {Tags: tags(t, "aws:x", "1")},
		`"" is not a key of a tag`:        {Tags: tags(t, "", "1")},
		`the template of "a" is nil`:      {Tags: []archive.TagTemplate{{Key: "a"}}},
		`"{PK}" differs from change`:      {Tags: tags(t, "a", "{PK}")},
		`"{@op}" differs from change`:     {Tags: tags(t, "a", "{@op}")},
	} {
		o.Store = &memory{}
		if _, err := archive.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one of %q", err, want)
		}
	}
}
