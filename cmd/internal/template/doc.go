// Package template is the command template. It prints the resources that run a configuration as a Lambda function: the
// FilterCriteria and the policies that follow from it, and whole templates of SAM and Terraform around them.
//
// The output depends only on the configuration and the flags. Each part has a comment with its reason, also for filters
// that cannot be pushed down to Lambda. template.yaml of this repository is the output for the configuration of
// deploy/example, with the tables and the bucket that the example needs.
//
// flags.run calls one of [Filters], [Policies], [SAM] and [Terraform]. Read command.go first, then options.go and
// sam.go.
package template
