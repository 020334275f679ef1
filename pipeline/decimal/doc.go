// Package decimal has the exact numbers of DynamoDB: 38 significant digits, from 1E-130 to 9.99E+125.
//
// [Parse] makes a [Decimal]; no operation rounds. Read decimal.go, then parse.go.
package decimal
