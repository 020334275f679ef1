package template

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/decimal"
)

// numbers draws numbers of all magnitudes. Some of them are close to each other.
func numbers(t *rapid.T, name string) decimal.Decimal {
	text := rapid.StringMatching(`-?(0|[1-9][0-9]{0,5})(\.[0-9]{0,4}[1-9])?`).Draw(t, name)
	if rapid.IntRange(0, 3).Draw(t, name+" is wide") == 0 {
		text = rapid.StringMatching(`-?[1-9][0-9]{0,36}[eE]-?[0-9]{1,2}`).Draw(t, name)
	}
	d, err := decimal.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Texts with sortable sort like their numbers, whatever follows them in the key.
func TestSortable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := numbers(t, "a"), numbers(t, "b")
		behind := rapid.StringOf(rapid.RuneFrom([]rune("!#-./09:A_az~é"))).Draw(t, "behind")
		other := rapid.StringOf(rapid.RuneFrom([]rune("!#-./09:A_az~é"))).Draw(t, "behind b")
		x, errX := toSortable([]byte("k"+a.String()), 1)
		y, errY := toSortable([]byte("k"+b.String()), 1)
		if errX != nil || errY != nil {
			t.Fatal(errX, errY)
		}
		if order := a.Cmp(b); order != 0 && strings.Compare(string(x)+behind, string(y)+other) != order || order == 0 && string(x) != string(y) {
			t.Fatalf("%s and %s are %s and %s", a, b, x, y)
		}
		if back, err := decimal.ParseSortable(string(x[1:])); err != nil || back.Cmp(a) != 0 {
			t.Fatalf("%s came back as %s (%v)", a, back, err)
		}
	})
	for _, text := range []string{"x", "1.2.3", "-", "1e999"} {
		if got, err := toSortable([]byte(text), 0); err == nil || !strings.Contains(err.Error(), "sortable takes numbers") {
			t.Errorf("%q is %q (%v)", text, got, err)
		}
	}
}

// Texts with pad sort like their numbers, rounded down. A number that does not fit is an error.
func TestPad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fraction := rapid.IntRange(-1, 3).Draw(t, "fraction")
		width := rapid.IntRange(1, 10).Draw(t, "width") + max(fraction, 0)
		var texts [2]string
		var values [2]decimal.Decimal
		for i, name := range []string{"a", "b"} {
			d := numbers(t, name)
			got, err := pad([]byte("k"+d.String()), 1, width, fraction)
			whole, behind, _ := strings.Cut(d.String(), ".")
			fits := d.Sign() >= 0 && len(whole)+max(fraction, 0)+min(max(fraction, 0), 1) <= width && (fraction >= 0 || behind == "")
			if fits != (err == nil) || err != nil && !strings.Contains(err.Error(), "sortable") {
				t.Fatalf("%s with pad:%d.%d is %q (%v)", d, width, fraction, got, err)
			}
			if err != nil {
				return
			}
			texts[i] = string(got)
			cut := whole
			if fraction > 0 {
				cut += "." + (behind + "000")[:fraction]
			}
			if values[i], err = decimal.Parse(cut); err != nil || len(got) != 1+width || strings.TrimLeft(texts[i][1:], "0") != strings.TrimLeft(cut, "0") {
				t.Fatalf("%s with pad:%d.%d is %s (%v)", d, width, fraction, got, err)
			}
		}
		if strings.Compare(texts[0], texts[1]) != values[0].Cmp(values[1]) {
			t.Fatalf("%q sort by another order", texts)
		}
	})
}

// pad also adds zeros to texts that are not numbers.
func TestPad_Texts(t *testing.T) {
	for text, want := range map[string]string{"A1": "00A1", "abcde": "abcde", "1.2.3": "1.2.3", "1.": "001.", "é": "000é", "0012": "0012", "00012": ""} {
		got, err := pad([]byte(text), 0, 4, -1)
		if (err == nil) != (want != "") || err == nil && string(got) != want {
			t.Errorf("%q is %q (%v), want %q", text, got, err, want)
		}
		if _, err := pad([]byte(text), 0, 4, 1); err == nil && strings.Trim(text, "0123456789") != "" {
			t.Errorf("%q is a number with a fraction", text)
		}
	}
}
