package athena_test

import (
	"testing"

	"github.com/tablewake/tablewake/test/testmain"
)

// Each check writes objects of many columns.
func TestMain(m *testing.M) { testmain.Run(m, testmain.Checks(8)) }
