// Package deploy compares the deployed files with the tools that check them: SAM's own validation and build, cfn-lint
// over what SAM makes of a template, checkov, hadolint and compose's parser; and runs the image's contents as a
// container would.
//
// The tools are installed once, by package test/server. A tool that is missing is a failure.
// For each there is a wrong input that it has to find: a lint that finds nothing is none.
package deploy
