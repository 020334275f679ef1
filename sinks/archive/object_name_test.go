package archive_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/archive"
)

// New checks the constant part of all names, and the error contains the name of the option.
func TestNamesThatServersDoNotKeepAreRefused(t *testing.T) {
	for prefix, want := range map[string]string{
		"/changes/":                    "begins with /",
		"a//b/":                        "segment without text",
		"a/./":                         "segment .",
		"../":                          "segment ..",
		`a\b/`:                         `holds a \`,
		"a\x01/":                       "control character",
		"\xff/":                        "UTF-8",
		"~x/":                          "archive's own",
		"a/.~fingerprints/":            "archive's own",
		strings.Repeat("a", 4e2) + "/": "longer than",
	} {
		for _, o := range []archive.Options{
			{},
			{Partition: parse(t, "dt={@op}")},
			{Layout: archive.PerItem, Key: parse(t, "{@key}/{@version}")},
		} {
			o.Store, o.Prefix = &memory{}, prefix
			if _, err := archive.New(o); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "Prefix") {
				t.Errorf("prefix %q: error %v, want %q", prefix, err, want)
			}
		}
	}
	for key, want := range map[string]string{"{PK}//{@version}": "segment without text", "{PK}/{@version}/": "segment without text", "/{@version}": "begins with /", "a/../{@version}": "segment .."} {
		if _, err := archive.New(archive.Options{Store: &memory{}, Layout: archive.PerItem, Key: parse(t, key)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("key %q: error %v, want %q", key, err, want)
		}
	}
	for _, prefix := range []string{"", "a", "a/", "a/b-", "ä ö/"} {
		newSink(t, archive.Options{Store: &memory{}, Prefix: prefix, Partition: parse(t, "{PK}/x")})
	}
}

// A raw name that is too long is cut between two characters: S3 takes only UTF-8.
func TestLongRawNamesAreUTF8(t *testing.T) {
	s := newSink(t, archive.Options{Store: &memory{}, Layout: archive.PerItem, RawNames: true, Key: parse(t, "x{PK}")})
	for _, pk := range []string{strings.Repeat("é", 200), strings.Repeat("日", 100), strings.Repeat("😀", 80)} {
		rec := `{"eventName":"REMOVE","dynamodb":{"SequenceNumber":"1","Keys":{"PK":{"S":"` + pk + `"}}},"eventSourceARN":"` + arn + `"}`
		page, err := record.NewDecoder(record.DecoderOptions{}).Decode([]byte(rec))
		if err != nil || len(page.Changes) != 1 {
			t.Fatalf("%s: %v", rec, err)
		}
		d := pipeline.Delivery{Change: &page.Changes[0]}
		if err := s.Plan(&d); err != nil {
			t.Fatal(err)
		}
		if name := d.Ops[0].(*archive.Put).Name; len(name) != 255 || !utf8.ValidString(name) {
			t.Errorf("a name of %d bytes: %q", len(name), name)
		}
	}
}

// Whatever texts a name is made of, different items have different names. A name is valid for a server that keeps
// objects as files, and is never the folder of another name.
func TestNamesAreSafeAndApart(t *testing.T) {
	text := rapid.OneOf(
		rapid.StringMatching(`[a~./]{1,4}`),
		rapid.StringMatching(`[ab]{180,260}`),
		rapid.StringOfN(rapid.RuneFrom([]rune("aé")), 700, 1100, -1),
		rapid.SampledFrom([]string{"_none", "..", "~", ".~fingerprints", "\x00", `\`}),
	)
	s := newSink(t, archive.Options{Store: &memory{}, Prefix: "p/", Layout: archive.PerItem, Key: parse(t, "{PK}/x{SK}/{@version}.json")})
	rapid.Check(t, func(t *rapid.T) {
		name := func(label string) (name, of string) {
			pk, sk := text.Draw(t, label+" PK"), text.Draw(t, label+" SK")
			rec := `{"eventName":"REMOVE","dynamodb":{"SequenceNumber":"1","Keys":{"PK":` + string(item.StringValue(pk).AppendDynamoDBJSON(nil)) +
				`,"SK":` + string(item.StringValue(sk).AppendDynamoDBJSON(nil)) + `}},"eventSourceARN":"` + arn + `"}`
			page, err := record.NewDecoder(record.DecoderOptions{}).Decode([]byte(rec))
			if err != nil || len(page.Changes) != 1 {
				t.Fatalf("%s: %v", rec, err)
			}
			d := pipeline.Delivery{Change: &page.Changes[0]}
			if err := s.Plan(&d); err != nil {
				t.Fatal(err)
			}
			return d.Ops[0].(*archive.Put).Name, pk + "\x01" + sk
		}
		one, of1 := name("one")
		two, of2 := name("two")
		if (one == two) != (of1 == of2) {
			t.Fatalf("%q is named %s, and %q %s", of1, one, of2, two)
		}
		if strings.HasPrefix(two, one+"/") {
			t.Fatalf("%s is an object, and a folder of %s", one, two)
		}
		if len(one) > 1024 {
			t.Fatalf("a name of %d bytes", len(one))
		}
		for _, segment := range strings.Split(one, "/") {
			if segment == "" || segment == "." || segment == ".." || len(segment) > 255 || segment == archive.Fingerprints || strings.ContainsAny(segment, "\\\x00") {
				t.Fatalf("%s has the segment %q", one, segment)
			}
		}
	})
}
