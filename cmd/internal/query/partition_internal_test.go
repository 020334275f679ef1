package query

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/smithy-go"
)

// DynamoDB refuses a text as the key of a table whose key is a number. Other errors are not about the key.
func TestExplainError(t *testing.T) {
	refused := fmt.Errorf("query: %w", &smithy.GenericAPIError{Code: "ValidationException", Message: "Condition parameter type does not match schema type"})
	denied := &smithy.GenericAPIError{Code: "AccessDeniedException"}
	if got, want := (viewQuery{pk: "10"}).explainError(refused), refused.Error()+`; if the partition key is a number, write --pk '{"N":"10"}'`; !errors.Is(got, refused) || got.Error() != want {
		t.Errorf("%v, want %s", got, want)
	}
	for pk, err := range map[string]error{"10": denied, "STATUS#paid": refused} {
		if got := (viewQuery{pk: pk}).explainError(err); got.Error() != err.Error() {
			t.Errorf("--pk %s: %v, want %v", pk, got, err)
		}
	}
}
