// Package formats checks files for other programs with the parsers of those programs: the Terraform modules that
// `tablewake template -o terraform` prints, and GitHub's workflows. It is a module of its own, so that no program links
// these parsers.
package formats
