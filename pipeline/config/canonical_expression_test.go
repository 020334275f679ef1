package config

import "testing"

func TestCanonicalExpr(t *testing.T) {
	for src, want := range map[string]string{
		`item.Type=="Order"`:                                `item.Type == "Order"`,
		" item . Type\n==\t'a  b' ":                         `item.Type == 'a  b'`,
		`item.A>10.50&&item.B in["x","y"]`:                  `item.A > 10.50 && item.B in ["x", "y"]`,
		`!( item.A == 1 || item["first-name"] == "\"  x" )`: `!(item.A == 1 || item["first-name"] == "\"  x")`,
		"item.A == 1 // a comment\n&& item.B == '//'":       `item.A == 1 && item.B == '//'`,
		`item.Name.startsWith( "x" )`:                       `item.Name.startsWith("x")`,
		`item.Name.matches(r"\") || item.B == "a  b"`:       `item.Name.matches(r"\") || item.B == "a  b"`,
		`item.A == """a "  b""" && item.B == 'c'`:           `item.A == """a "  b""" && item.B == 'c'`,
		`item.A+1>=number("2")?item.B:item.C`:               `item.A + 1 >= number("2") ? item.B : item.C`,
		`item.Lines.exists(l,l.qty>1)`:                      `item.Lines.exists(l, l.qty > 1)`,
		`"unclosed`:                                         `"unclosed`,
		``:                                                  ``,
		`item.Grün=='ü'`:                                    `item.Grün == 'ü'`,
		`[1,2][0]==1`:                                       `[1, 2][0] == 1`,
	} {
		got := canonicalExpr(src)
		if got != want {
			t.Errorf("%s is %s, want %s", src, got, want)
		}
		if again := canonicalExpr(got); again != got {
			t.Errorf("%s becomes %s when it is made canonical again", got, again)
		}
	}
}
