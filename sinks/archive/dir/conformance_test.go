package dir_test

import (
	"testing"

	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/archive/archivetest"
	"github.com/tablewake/tablewake/sinks/archive/dir"
)

func TestConformance(t *testing.T) {
	archivetest.Run(t, archivetest.Store{Open: func(path string) (archive.Lister, error) {
		return dir.New(dir.Options{Dir: path})
	}})
}
