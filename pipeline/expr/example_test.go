package expr_test

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline/expr"
	"github.com/tablewake/tablewake/pipeline/item"
)

func ExampleEnv_CompileItem() {
	env := expr.Env{Attributes: map[string]item.Kind{"Type": item.KindS, "Total": item.KindN}}
	large, err := env.CompileItem(`item.Type == "Order" && item.Total > 10.50`)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, json := range []string{
		`{"Type": {"S": "Order"}, "Total": {"N": "10.51"}}`,
		`{"Type": {"S": "Order"}, "Total": {"N": "10.5"}}`,
		`{"Type": {"S": "Order"}}`,
	} {
		item, err := item.Parse([]byte(json))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(large.Match(item))
	}
	_, err = env.CompileItem(`item.Type == "Order" && item.Totl > 10.50`)
	fmt.Println(err)
	// Output:
	// true <nil>
	// false <nil>
	// false <nil>
	// expression line 1 column 29: attribute "Totl" is not among the declared ones (did you mean Total?)
}
