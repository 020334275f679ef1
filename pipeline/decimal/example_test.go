package decimal_test

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline/decimal"
)

// Sortable texts sort like the numbers, and keep every digit.
func ExampleDecimal_AppendSortable() {
	for _, text := range []string{"-3", "0.1", "12345678901234567890.000000000000000001"} {
		d, err := decimal.Parse(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(d, string(d.AppendSortable(nil)))
	}
	// Output:
	// -3 04986~
	// 0.1 25001-
	// 12345678901234567890.000000000000000001 252012345678901234567890000000000000000001-
}
