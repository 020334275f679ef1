// Package formats checks files that other programs read by those programs' own parsers: the Terraform modules that
// `tablewake template -o terraform` prints, and GitHub's workflows. It is a module of its own, so that no program links
// these parsers.
package formats
