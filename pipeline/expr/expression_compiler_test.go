package expr

import (
	"errors"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
)

// place is the position of an error, with parts of its message and its hint.
type place struct {
	line, column  int
	message, hint string
}

func checkError(t *testing.T, src string, err error, want place) {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Errorf("%s: %v, want an *Error", src, err)
		return
	}
	if e.Line != want.line || e.Column != want.column || !strings.Contains(e.Message, want.message) || !strings.Contains(e.Hint, want.hint) {
		t.Errorf("%s:\n got %v\nwant line %d column %d: %s (%s)", src, e, want.line, want.column, want.message, want.hint)
	}
	if !strings.Contains(e.Error(), e.Message) || !strings.Contains(e.Error(), e.Hint) {
		t.Errorf("%q lacks its parts", e.Error())
	}
}

func TestItemErrors(t *testing.T) {
	for _, tt := range []struct {
		src  string
		want place
	}{
		// syntax
		{`item.X ==`, place{1, 10, "something is missing", ""}},
		{`item.X == 1 ||`, place{1, 15, "something is missing", ""}},
		{``, place{1, 1, "something is missing", ""}},
		{`item.X > 0'`, place{1, 11, "a quote has no other one", "between two quotes"}},
		{`item.X = 1`, place{1, 8, "'= '", "write =="}},
		{`item.X <> 1`, place{1, 9, "'>'", "write !="}},
		{`item.X and item.Y`, place{1, 8, "'and'", "write &&"}},
		{`item.X & item.Y`, place{1, 8, "'& '", "write &&"}},
		{`not item.X`, place{1, 5, "'item'", "write !"}},
		{`item.X is null`, place{1, 8, "'is'", "write =="}},
		{`item.X == None`, place{1, 11, `unknown name "None"`, "write null"}},
		{`item.in == 1`, place{1, 6, "", `item["in"]`}},
		{`item.null == 1`, place{1, 6, "", `item["in"]`}},
		{`item.2x == 1`, place{1, 5, "", `item["in"]`}},
		{`item.first-name == "Ann"`, place{1, 12, `unknown name "name"`, `item["first-name"]`}},
		{`has(item["first-name"])`, place{1, 9, "invalid argument", `item["first-name"] != null`}},
		{`item.Lines.exists(l)`, place{1, 18, `unknown function "exists"`, "item.Lines.exists(l, l.qty > 1)"}},
		{`item.X == 1)`, place{1, 12, "')'", ""}},
		{"item.X == 1 &&\n  item.Y == ", place{2, 13, "something is missing", ""}},
		{"item.X == 1 &&\n  itm.Y == 2", place{2, 3, `unknown name "itm"`, "did you mean item?"}},
		{`item.É == "ä" && foo`, place{1, 6, "", ""}},
		// names
		{`Status == "paid"`, place{1, 1, `unknown name "Status"`, "an attribute is written item.Status"}},
		{`new.Status == "paid"`, place{1, 1, `unknown name "new"`, "write item"}},
		{`op == "INSERT"`, place{1, 1, `unknown name "op"`, "write item"}},
		{`sizes(item.X) == 1`, place{1, 6, `unknown function "sizes"`, "did you mean size?"}},
		{`item.X.startswith("a")`, place{1, 18, `unknown function "startswith"`, "did you mean startsWith?"}},
		{`item.X.lowerAscii() == "x"`, place{1, 18, `unknown function "lowerAscii"`, "functions are size"}},
		{`double(item.X) == 1.0`, place{1, 7, `unknown function "double"`, ""}},
		// images as a whole
		{`item`, place{1, 1, "item is an image as a whole", "item.Status"}},
		{`size(item) > 1`, place{1, 6, "item is an image as a whole", ""}},
		{`item == item.X`, place{1, 1, "item is an image as a whole", ""}},
		{`item[item.X] == 1`, place{1, 10, "must be a text in quotes", `item["first-name"]`}},
		{`[1].exists(item, item == 1)`, place{1, 11, "item is the name of something else", ""}},
		// numbers
		{`item.X == 123456789012345678901234567890`, place{1, 11, "a number that no literal can hold", `number("...")`}},
		{`item.X == 1.00000000000000000000000000000000000001`, place{1, 11, "38", ""}},
		{`item.X == 1e200`, place{1, 11, `"1e200"`, ""}},
		{`item.X in [1, 1e-200]`, place{1, 15, `"1e-200"`, ""}},
		{`item.X == number("ten")`, place{1, 18, `"ten"`, ""}},
		{`item.X * 2 == 4`, place{1, 8, "* is not supported", "+ and -"}},
		{`item.X / 2 == 4`, place{1, 8, "/ is not supported", ""}},
		{`item.X % 2 == 0`, place{1, 8, "% is not supported", ""}},
		// types
		{`item.X + 1`, place{1, 1, "the result is not a BOOL", "compare it"}},
		{`"abc"`, place{1, 1, "the result is not a BOOL", ""}},
		{`1 && item.X`, place{1, 1, "a value of type N is not a BOOL", ""}},
		{`"a" < 1`, place{1, 5, "< cannot be applied to S and N", ""}},
		{`"a".matches("(")`, place{1, 13, "missing closing )", ""}},
		{`item.X.matches(item.Y)`, place{1, 20, "must be a text in quotes", ""}},
		{`timestamp(item.X) > timestamp("yesterday")`, place{1, 31, "RFC 3339", ""}},
		{`timestamp(item.X) - timestamp(item.Y) > duration("1 day")`, place{1, 50, "90s or 12h", ""}},
		{`Foo{a: 1} == null`, place{1, 4, "makes a message", ""}},
		// cost
		{`item.A.all(a, item.B.all(b, a == b))`, place{1, 1, "could take too long", "multiply"}},
		{`item.A.all(a, a in item.B)`, place{1, 1, "could take too long", ""}},
		{`item.A.exists(a, item.B.contains(a.x))`, place{1, 1, "could take too long", ""}},
	} {
		_, err := Env{}.CompileItem(tt.src)
		checkError(t, tt.src, err, tt.want)
	}
}

func TestChangeErrors(t *testing.T) {
	for _, tt := range []struct {
		src  string
		want place
	}{
		{`item.X == 1`, place{1, 1, `unknown name "item"`, "write old or new"}},
		{`nwe.X == 1`, place{1, 1, `unknown name "nwe"`, "did you mean new?"}},
		{`op == "insert"`, place{1, 7, `no op is called "insert"`, `did you mean "INSERT"?`}},
		{`"DELETE" != op`, place{1, 1, `no op is called "DELETE"`, "REMOVE"}},
		{`op in ["INSERT", "REMVE"]`, place{1, 18, `no op is called "REMVE"`, `did you mean "REMOVE"?`}},
		{`op == 1`, place{1, 4, "== cannot be applied to op (S) and N", "write the text in quotes"}},
		{`old < new`, place{1, 1, "old is an image as a whole", ""}},
		{`time > 5`, place{1, 6, "> cannot be applied to time (timestamp) and N", ""}},
		{`ttl == "yes"`, place{1, 5, "== cannot be applied to ttl (BOOL) and S", ""}},
	} {
		_, err := Env{}.CompileChange(tt.src)
		checkError(t, tt.src, err, tt.want)
	}
}

func TestDeclaredAttributes(t *testing.T) {
	env := Env{Attributes: map[string]item.Kind{
		"Type": item.KindS, "Status": item.KindS, "Total": item.KindN, "Gift": item.KindBOOL, "Blob": item.KindB, "first-name": item.KindS,
		"Address": item.KindM, "Lines": item.KindL, "Tags": item.KindSS, "Nums": item.KindNS, "Bins": item.KindBS, "Null": item.KindNULL, "Missing": item.KindS,
	}}
	for _, tt := range []struct {
		src  string
		want place
	}{
		{`item.Statsu == "paid"`, place{1, 5, `attribute "Statsu" is not among the declared ones`, "did you mean Status?"}},
		{`item.Nonsense == "paid"`, place{1, 5, `attribute "Nonsense"`, "declare it under attributes"}},
		{`item["firstname"] == "paid"`, place{1, 5, `attribute "firstname"`, "did you mean first-name?"}},
		{`has(item.Statsu)`, place{1, 4, `attribute "Statsu"`, "did you mean Status?"}},
		{`item.Lines.exists(l, l.qty > 1 && item.Totl > 5)`, place{1, 39, `attribute "Totl"`, "did you mean Total?"}},
		{`item.Total == "10.50"`, place{1, 12, "== cannot be applied to item.Total (N) and S", "write the number without quotes"}},
		{`item.Status > 5`, place{1, 13, "> cannot be applied to item.Status (S) and N", "write the text in quotes"}},
		{`item.Status in [1, 2]`, place{1, 13, "in cannot be applied to item.Status (S) and list", ""}},
		{`item.Total.startsWith("1")`, place{1, 22, "startsWith cannot be applied to item.Total (N) and S", ""}},
		{`item.Gift + 1 == 2`, place{1, 11, "+ cannot be applied to item.Gift (BOOL) and N", ""}},
		{`5 in item.Tags`, place{1, 3, "in cannot be applied to N and item.Tags (list)", ""}},
		{`item.Status`, place{1, 5, "item.Status (S) is not a BOOL", "compare it"}},
		{`item.Status && item.Gift`, place{1, 5, "item.Status (S) is not a BOOL", "compare it"}},
		{`item.Status.City == "x"`, place{1, 12, "[ ] or a . cannot be applied to item.Status (S)", ""}},
		{`item.Total.exists(x, x == 1)`, place{1, 5, "item.Total (N) has no members", ""}},
		{`size(item.Total) == 1`, place{1, 5, "size cannot be applied to item.Total (N)", ""}},
		{`item.Tags.exists(x, x == 5)`, place{1, 23, "== cannot be applied to x (S) and N", "write the text in quotes"}},
	} {
		_, err := env.CompileItem(tt.src)
		checkError(t, tt.src, err, tt.want)
	}
	it := parseImage(t, order)
	for _, src := range []string{
		`item.Status == "paid" && item.Total == 10.50 && item.Gift && item.Blob == b"abc" && item["first-name"] == "Ann"`,
		`item.Address.City == "Bonn" && item.Lines[0].qty == 2 && "a" in item.Tags && 2.5 in item.Nums && b"abc" in item.Bins`,
		`item.Missing == null && item.Null == null && item.Tags != null && item.Total != null && item.Address != null`,
		`!(item.Missing > "a") && !item.Missing.startsWith("a")`,
		`item.Total + 1 == 11.50 && item.Total in [10.50, 1] && -item.Total < 0`,
		`item.Gift ? item.Status != null : item.Total > 5`,
	} {
		x, err := env.CompileItem(src)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		if ok, err := x.Match(it); !ok || err != nil {
			t.Errorf("%s = %v, %v", src, ok, err)
		}
	}
	if _, err := (Env{Attributes: map[string]item.Kind{}}).CompileItem(`item.X == 1`); err == nil {
		t.Error("an empty declaration takes any attribute")
	}
	if x, err := env.CompileChange(`new.Total > old.Total && keys.Type == "x"`); err != nil || x == nil {
		t.Errorf("declared attributes in a change: %v", err)
	}
}

// The cost of a loop over one attribute is bounded, and so is the cost of loops over the members inside it.
func TestCostWithinBounds(t *testing.T) {
	for _, src := range []string{
		`item.Lines.exists(l, l.qty > 5 && l.sku == "x" && l.status in ["a", "b", "c"])`,
		`item.Lines.all(l, l.tags.exists(t, t == "x") && l.parts.all(p, p.names.exists(n, n.startsWith("a"))))`,
		`item.Lines.exists(l, l.sku == item.Address.City)`,
		`item.A.exists(a, a == 1) && item.B.exists(b, b == 1) && item.C.exists(c, c == 1)`,
		`item.Text.contains(item.Other) && item.Text.matches("^(a|b)+c.*[0-9]{1,5}$")`,
		`item.A == item.B && item.C in item.D`,
		`item.Lines.filter(l, l.qty > 1).map(l, l.sku).exists(s, s == "x")`,
	} {
		if _, err := (Env{}).CompileItem(src); err != nil {
			t.Errorf("%s: %v", src, err)
		}
	}
}

func FuzzCompileItem(f *testing.F) {
	for _, src := range []string{
		`item.Type == "Order" && item.Status in ["paid"]`, `item.Total == -  10.50e-1`, `item["first-name"] != null`, `item.Lines.exists(l, l.qty > 1u)`,
		`has(item.A.B) ? item.C[0] : !item.D`, `number("1e5") in [1, .5, item.X]`, `item.X.matches("^a")`, `[{"a": 1}] == [item.Address]`, `timestamp("2026-01-02T15:04:05Z") < timestamp(item.When)`,
		"item.X\n==\r\n1.5 // comment", `size(item.Tags) + 1.5 > 2`, `item == null`, `b"\x00" == item.Blob`, `r"a" + '''b''' == item.X`,
	} {
		f.Add(src)
	}
	item, err := item.Parse([]byte(order))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, src string) {
		x, err := Env{}.CompileItem(src)
		if err != nil {
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Line < 1 || e.Column < 1 || e.Message == "" {
				t.Fatalf("CompileItem(%q) = %#v: no place in the expression", src, err)
			}
			return
		}
		if _, err := x.Match(item); err != nil && !strings.HasPrefix(err.Error(), "expression ") {
			t.Fatalf("%q: %v", src, err)
		} else if err != nil && strings.Contains(err.Error(), "the evaluation failed") {
			t.Fatalf("%q: an error that says nothing: %v", src, err)
		}
	})
}
