package redact_test

import (
	"errors"
	"fmt"

	"github.com/tablewake/tablewake/pipeline/redact"
)

// Logs show an error with a class without the values of the item. Dead letters have the whole text.
func ExampleClass_Errorf() {
	const errs = redact.Class("crm")
	err := errs.Errorf("the server answered %d to %s", 503, "ada@example.com")
	fmt.Println(err)
	fmt.Println(redact.LogText(err))
	fmt.Println(redact.LogText(errors.New("no answer to ada@example.com")))
	// Output:
	// the server answered 503 to ada@example.com
	// crm: the server answered 503 to …
	// unknown: *errors.errorString
}
