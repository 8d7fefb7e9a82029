// Package engine runs the embedded ClickHouse engine chDB for `ledgerd dev` and for the tests, behind as much of
// ClickHouse's HTTP interface as clickhouse-go needs. What speaks to it then speaks to a real server just so.
//
// # Who runs it
//
// The library is 550 MB of C++ that crashes and allocates as it likes, so it runs in a child process: this same program,
// started again, which calls [RunChild]. [Start] starts the child, waits until it answers and starts it again when it dies.
// The listening socket belongs to the parent, so the address stays and connections wait while a child starts. A child ends
// when its standard input does, which is at the latest when the parent dies.
//
// # What it answers
//
//	POST /?query=INSERT…   the body is one Native block stream, loaded by way of a file
//	POST /                 the body is the statement; the answer is Native
//	GET /ping              Ok.
//
// Every request needs the secret: the engine can read files. Parameters param_x and settings are set on the connection for
// one statement. The engine writes Native as protocol 0 has it, while the driver asks for a later one, so blocks are decoded
// and encoded again. A failed statement has the engine's own error code.
//
// Several connections to one engine run at once, which the library's documentation denies and which works; what does not is
// using one of them for two statements at a time. A request that its client gives up has its statement killed.
package engine
