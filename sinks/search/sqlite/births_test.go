package sqlite_test

import (
	"testing"

	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/searchtest"
)

func TestBirths(t *testing.T) {
	searchtest.Births(t, open(t, t.TempDir()), func(id string, n int, birth string, gone bool) search.Mutation {
		m := mutation(id, n, `{"n":1}`)
		if gone {
			m = tombstone(id, n)
		}
		m.Birth = birth
		return m
	})
}
