// Package folder tests, end to end, that processes of one host share what is on a file
// system: every pair of commands on one folder at once, consumers beside redrives, and what
// is removed or damaged under them.
package folder
