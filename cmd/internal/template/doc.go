// Package template is the command template. It prints what runs a configuration as a Lambda function: the FilterCriteria and
// the policies that follow from it, and whole templates of SAM and Terraform around them.
//
// What is printed is the same for the same configuration. It says of every part why it is
// there, and of what could not be pushed down to Lambda, why not. The tree's own
// template.yaml is printed by it too, for the configuration of deploy/example with the tables
// and the bucket that it needs.
package template
