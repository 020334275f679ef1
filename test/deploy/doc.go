// Package deploy checks the deployed files with tools: SAM's own validation and build, cfn-lint for the output that SAM
// makes of a template, checkov, hadolint and compose's parser. It also runs the contents of the image like a container.
//
// Package test/server installs the tools once. A missing tool is a failure. For each tool there is a wrong input that
// the tool must find, because a lint that finds nothing is worth nothing.
package deploy
