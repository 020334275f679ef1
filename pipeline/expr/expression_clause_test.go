package expr

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestClause(t *testing.T) {
	typeIn := func(image string, texts ...string) Clause {
		return Clause{Kind: TextIn, Image: image, Attribute: "Type", Texts: texts}
	}
	for src, want := range map[string]Clause{
		`new.Type == "Order"`:                     typeIn("new", "Order"),
		`"Order" == old["Type"]`:                  typeIn("old", "Order"),
		`new.Type in ["Order", "User"]`:           typeIn("new", "Order", "User"),
		`new.Type != "Order"`:                     {Kind: NotOf, Parts: []Clause{typeIn("new", "Order")}},
		`!(keys.Type == "Order")`:                 {Kind: NotOf, Parts: []Clause{typeIn("keys", "Order")}},
		`new.Type.startsWith("Or")`:               {Kind: TextStarts, Image: "new", Attribute: "Type", Texts: []string{"Or"}},
		`new.Gift == true`:                        {Kind: FlagIs, Image: "new", Attribute: "Gift", Flag: true},
		`op == "REMOVE"`:                          {Kind: OperationIn, Texts: []string{"REMOVE"}},
		`op in ["INSERT"] && new.Total > 5`:       {Kind: AllOf, Parts: []Clause{{Kind: OperationIn, Texts: []string{"INSERT"}}, {}}},
		`new.Type == "Order" || old == null`:      {Kind: AnyOf, Parts: []Clause{typeIn("new", "Order"), {}}},
		`new.Type == old.Type`:                    {},
		`new.Type in ["Order", 5]`:                {},
		`new.Address.City == "Bonn"`:              {},
		`new.Total == 5`:                          {},
		`"Order" in new.Tags`:                     {},
		`new.Lines.exists(l, l.Type == "Order")`:  {},
		`new.Type == null`:                        {},
		`has(new.Type)`:                           {},
		`new.Gift`:                                {},
		`(new.Gift ? "a" : "b") == "a" && ttl`:    {Kind: AllOf, Parts: []Clause{{}, {}}},
		`new.Type.startsWith(old.Type) || !(ttl)`: {Kind: AnyOf, Parts: []Clause{{}, {Kind: NotOf, Parts: []Clause{{}}}}},
	} {
		x, err := Env{}.CompileChange(src)
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		if diff := cmp.Diff(want, x.Clause()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", src, diff)
		}
	}
}
