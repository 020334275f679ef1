package template

import (
	"errors"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/record"
)

// {@shard} is the shard of the item's key as a decimal number. All changes of the item have the same shard.
func TestShard(t *testing.T) {
	tpl, err := Parse("S#{Status}#{@shard}", Options{Shard: true})
	if err != nil {
		t.Fatal(err)
	}
	s := scope(t)
	shards := make(map[int]string)
	for _, n := range []int{1, 10, 256} {
		s.Shards = n
		text, _, err := tpl.AppendText(nil, s)
		if err != nil {
			t.Fatal(err)
		}
		shards[n] = string(text)
	}
	if shards[1] != "S#Paid#0" || shards[10] != "S#Paid#1" || shards[256] != "S#Paid#55" {
		t.Errorf("%v", shards)
	}
	other := *s.Change
	other.Op, other.Version, other.Sequence = record.Remove, record.Version{}, "7"
	s.Change = &other
	if text, _, _ := tpl.AppendText(nil, s); string(text) != shards[256] {
		t.Errorf("another change of the item is in %s, and not in %s", text, shards[256])
	}
	s.Shards = 0
	if text, missing, err := tpl.AppendText(nil, s); len(text) > 0 || missing != "@shard" || err != nil {
		t.Errorf("without shards: %q, %q, %v", text, missing, err)
	}
	if !tpl.Stable() || !tpl.HasShard() || tpl.HasKey() || len(tpl.EscPaths()) > 0 || parse(t, "{@key}").HasShard() {
		t.Error("the template reads the item and its shard alone")
	}
}

// A key after a shard and a separator can be cut out of a text. A key directly after a shard cannot.
func TestShardBesideKey(t *testing.T) {
	tpl, err := Parse("{@shard}#{@key}", Options{Shard: true})
	if err != nil {
		t.Fatal(err)
	}
	if cut, ok := tpl.Cut("12#a,b"); !ok || cut["@key"] != "a,b" || !tpl.HasKey() || tpl.Ambiguous() {
		t.Errorf("%v, %v", cut, ok)
	}
	if tpl, err = Parse("{@shard}{@key}", Options{Shard: true}); err != nil || tpl.HasKey() {
		t.Errorf("a key behind the digits of a shard can be cut out: %v", err)
	}
}

func TestShardErrors(t *testing.T) {
	for _, tt := range []struct {
		src     string
		shard   bool
		column  int
		message string
	}{
		{"S#{@shard}", false, 4, "partition key of a view"},
		{"S#{@shard|pad:3}", true, 4, "takes no function"},
		{"S#{@shard?}", true, 4, "takes no function"},
		{"{@shard}#{@shard}", true, 11, "twice"},
		{"{@shards}", true, 2, "unknown name"},
	} {
		_, err := Parse(tt.src, Options{Shard: tt.shard})
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Column != tt.column || !strings.Contains(e.Message, tt.message) || e.Hint == "" {
			t.Errorf("Parse(%q) = %v; want column %d, %q and a hint", tt.src, err, tt.column, tt.message)
		}
	}
}
