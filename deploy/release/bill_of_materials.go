package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// program is a program that was built for a target.
type program struct {
	target
	version, goVersion string
	content            []byte
	modules            []module
}

// writeBill writes the program's bill of materials. The bill lists the modules in the program's build information, not
// those in go.mod. It has no time and no serial number, so that it is reproducible.
func writeBill(path string, p program) error {
	bom := cdx.NewBOM()
	bom.SerialNumber = ""
	ref := packageURL(modulePath, p.version)
	bom.Metadata = &cdx.Metadata{Component: &cdx.Component{
		BOMRef: ref, Type: cdx.ComponentTypeApplication, Name: p.name, Version: p.version, PackageURL: ref,
		Licenses: licenseChoices([]string{"Apache-2.0"}),
		Hashes:   &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: fmt.Sprintf("%x", sha256.Sum256(p.content))}},
		Properties: &[]cdx.Property{
			{Name: "cdx:gomod:build:env:GOOS", Value: p.os}, {Name: "cdx:gomod:build:env:GOARCH", Value: p.arch},
			{Name: "cdx:gomod:build:env:GOVERSION", Value: p.goVersion},
		},
	}}
	var components []cdx.Component
	var refs []string
	for _, m := range p.modules {
		c := cdx.Component{
			BOMRef: packageURL(m.path, m.version), Type: cdx.ComponentTypeLibrary, Name: m.path, Version: m.version,
			PackageURL: packageURL(m.path, m.version),
			Scope:      cdx.ScopeRequired, Licenses: licenseChoices(m.licenses),
		}
		// The sum is the hash of the module's files, as in go.sum.
		sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.sum, "h1:"))
		if err == nil && len(sum) == sha256.Size {
			c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
		}
		components = append(components, c)
		refs = append(refs, c.BOMRef)
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: ref, Dependencies: &refs}}

	var text bytes.Buffer
	encoder := cdx.NewBOMEncoder(&text, cdx.BOMFileFormatJSON).SetPretty(true)
	if err := encoder.EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return err
	}
	return os.WriteFile(path, text.Bytes(), 0o644)
}

// packageURL returns the package URL of a Go module.
func packageURL(path, version string) string { return "pkg:golang/" + path + "@" + version }

func licenseChoices(ids []string) *cdx.Licenses {
	var all cdx.Licenses
	for _, id := range ids {
		all = append(all, cdx.LicenseChoice{License: &cdx.License{ID: id}})
	}
	return &all
}
