package postgres

// QuestionSQL is the statements behind the audit questions, for the test of their plans. The usage statement takes the
// arguments of Store.usage, the others tenant, providers, size and limit.
var QuestionSQL = struct{ Usage, Grants, Revocations, Records, Declarations string }{usageSQL, grantsSQL, revocationsSQL, recordsSQL, declarationsSQL}
