// Package retryconfig reads the retry settings of real products and turns each of
// them into one normal form, the [Hop].
//
// A hop says how many attempts one call makes at most, how long each may take, how
// long all of them may take, how long the waits between them are, what is retried,
// and what bounds the load. Numbers of different products that look alike are made
// comparable here: "3" is four attempts in one file and three in the next.
//
// The package recognises a file by its content, never by its name alone. It refuses
// what it cannot read with the reason and the place, and it never guesses a number:
// a value that the file does not decide is nil, with a range where the product, its
// version or a data plane leaves one.
package retryconfig
