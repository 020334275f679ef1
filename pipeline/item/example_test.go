package item_test

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline/item"
)

func ExampleImage_Lookup() {
	m, err := item.Parse([]byte(`{"Address":{"M":{"Lines":{"L":[{"M":{"sku":{"S":"A-1"},"qty":{"N":"2"}}}]}}},"first-name":{"S":"Ada"}}`))
	if err != nil {
		fmt.Println(err)
	}
	sku, ok := m.Lookup("Address.Lines[0].sku")
	fmt.Println(sku, ok)
	name, ok := m.Lookup(`["first-name"]`)
	fmt.Println(name, ok)
	_, ok = m.Lookup("Address.Lines[1].sku")
	fmt.Println(ok)
	// Output:
	// {"S":"A-1"} true
	// {"S":"Ada"} true
	// false
}
