package template_test

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/template"
)

func ExampleTemplate_Value() {
	item, err := item.Parse([]byte(`{"Status": {"S": "Paid"}, "Total": {"N": "10.50"}, "CreatedAt": {"N": "1767366245"}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, src := range []string{"STATUS#{Status|upper}", "{Total}", "{CreatedAt|date:2006-01-02}", "{Currency}", "{Currency?}"} {
		t, err := template.Parse(src, template.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		v, missing, err := t.Value(template.Scope{Item: item})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %v %q\n", src, v, missing)
	}
	// Output:
	// STATUS#{Status|upper}: {"S":"STATUS#PAID"} ""
	// {Total}: {"N":"10.50"} ""
	// {CreatedAt|date:2006-01-02}: {"S":"2026-01-02"} ""
	// {Currency}: absent "Currency"
	// {Currency?}: absent ""
}
