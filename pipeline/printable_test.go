package pipeline

import (
	"encoding/json"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
)

func TestAppendPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"plain\tand ünïcode 日本 👩‍👧\n": "plain\tand ünïcode 日本 👩‍👧\n",
		"\x1b]0;title\x07":            `\u001b]0;title\u0007`,
		"a\r\x7f\u009b31m":            `a\u000d\u007f\u009b31m`,
		"\u202egnp.exe\u2066\u200f":   `\u202egnp.exe\u2066\u200f`,
		"\U000e0041\u2028\ufeff":      `\udb40\udc41\u2028\ufeff`,
		"\x9b31m":                     "\ufffd31m",
	} {
		if got := string(item.AppendPrintable(nil, []byte(text))); got != want {
			t.Errorf("%q reads %s, want %s", text, got, want)
		}
	}
	whole := "\x1b\u009b\u202e\U000e0041"
	b, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	var back string
	if err := json.Unmarshal(item.AppendPrintable(nil, b), &back); err != nil || back != whole {
		t.Errorf("JSON reads back as %q, %v", back, err)
	}
}
