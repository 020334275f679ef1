package template_test

import (
	"errors"
	"testing"

	"github.com/tablewake/tablewake/pipeline/template"
)

func TestRecent(t *testing.T) {
	var r template.Recent
	asked, unsound := 0, errors.New("unsound")
	check := func(s string) error {
		asked++
		if s == "bad" {
			return unsound
		}
		return nil
	}
	for _, c := range []struct {
		text  string
		err   error
		asked int
	}{{"a", nil, 1}, {"a", nil, 1}, {"bad", unsound, 2}, {"bad", unsound, 3}, {"a", nil, 3}, {"b", nil, 4}, {"", nil, 5}, {"", nil, 5}} {
		got, err := r.Text([]byte(c.text), check)
		if !errors.Is(err, c.err) || err == nil && got != c.text || asked != c.asked {
			t.Errorf("%q: %q, %v after %d checks, want %v after %d", c.text, got, err, asked, c.err, c.asked)
		}
	}
	text := []byte("b")
	_, _ = r.Text(text, check)
	if n := testing.AllocsPerRun(100, func() { _, _ = r.Text(text, check) }); n > 0 {
		t.Errorf("the text of before costs %v allocations", n)
	}
}
