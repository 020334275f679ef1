package initconfig

import (
	"embed"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"

	"github.com/tablewake/tablewake/cmd/internal/cli"
)

const tablewakeModule = "github.com/tablewake/tablewake"

// moduleSink is the name of the sink whose code is in the Go module.
const moduleSink = "changes"

//go:embed module
var moduleFS embed.FS

// moduleFiles are the files of the Go module for the user's own code. Each file has a template.
var moduleFiles = []string{"main.go", "extensions/extensions.go", "function/main.go", "go.mod", "Dockerfile"}

var (
	modulePathForm = regexp.MustCompile(`^\w([\w.~-]*\w)?(/\w([\w.~-]*\w)?)*$`)
	releaseVersion = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)
)

// file is a file to write.
type file struct{ path, text string }

// module returns the files of the Go module to write beside the configuration; nil without --module.
func (o *options) module() ([]file, error) {
	if o.modulePath == "" {
		return nil, nil
	}
	if o.out == "-" {
		return nil, cli.Usagef("--module writes files beside the configuration: name its file with --out")
	}
	if !modulePathForm.MatchString(o.modulePath) {
		return nil, cli.Usagef("--module %q is not a path of a Go module: write one as example.com/hotel", o.modulePath)
	}
	data := struct{ Path, Command, Config, Sink, Version string }{
		o.modulePath, path.Base(o.modulePath), filepath.Base(o.out), moduleSink, o.requiredVersion(),
	}
	var files []file
	for _, name := range moduleFiles {
		t, err := template.ParseFS(moduleFS, "module/"+name+".tmpl")
		if err != nil {
			return nil, err
		}
		var b strings.Builder
		if err := t.Execute(&b, data); err != nil {
			return nil, err
		}
		files = append(files, file{filepath.Join(filepath.Dir(o.out), filepath.FromSlash(name)), b.String()})
	}
	return files, nil
}

// requiredVersion returns the version of tablewake that go.mod requires, which is the version of this program. It
// returns "" if this program is not a release.
func (o *options) requiredVersion() string {
	if releaseVersion.MatchString(o.version) {
		return o.version
	}
	return ""
}
