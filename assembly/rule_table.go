package assembly

// rules is the table of the specification's section 5: each rule of the group with the kinds of its evidence.
func (g Group) rules() []ruleRow {
	switch g {
	case FormRules:
		return []ruleRow{
			{R010, "A"}, {R020, "A"}, {R030, "A"}, {R040, "A"},
		}
	case ProfileRules:
		return []ruleRow{
			{R100, "A"}, {R110, "B"}, {R115, "AX"}, {R118, "A"}, {R120, "B"}, {R130, "A"}, {R135, "A"},
			{R140, "A"}, {R145, "A"}, {R150, "A"}, {R155, "A"},
		}
	case BindRules:
		return []ruleRow{
			{R200, "A"}, {R205, "A"}, {R210, "A"}, {R215, "X"}, {R220, "A"}, {R240, "A"}, {R250, "B"},
			{R255, "B"}, {R260, "BX"},
		}
	case PlanRules:
		return []ruleRow{
			{R300, "A"}, {R302, "A"}, {R305, "B"}, {R310, "A"}, {R320, "A"}, {R330, "A"}, {R340, "A"},
			{R350, "A"}, {R360, "A"}, {R370, "A"}, {R380, "A"}, {R385, "A"}, {R390, "A"},
		}
	case InvocationRules:
		return []ruleRow{
			{R400, "A"}, {R410, "A"}, {R415, "A"}, {R420, "A"}, {R425, "A"}, {R440, "A"}, {R445, "A"},
			{R450, "A"}, {R460, "A"}, {R465, "A"}, {R470, "A"}, {R475, "A"}, {R480, "A"}, {R482, "A"},
			{R484, "B"}, {R486, "A"}, {R488, "A"}, {R490, "A"},
		}
	case ValidationRules:
		return []ruleRow{
			{R500, "A"}, {R505, "A"}, {R510, "A"}, {R515, "A"}, {R520, "B"}, {R525, "BP"}, {R530, "BP"},
			{R535, "A"}, {R540, "A"}, {R545, "A"}, {R550, "A"}, {R555, "B"}, {R560, "AB"}, {R565, "A"},
			{R570, "A"}, {R575, "A"},
		}
	case CacheRules:
		return []ruleRow{
			{R860, "A"}, {R865, "A"}, {R870, "A"}, {R875, "AB"}, {R878, "A"}, {R880, "B"}, {R885, "A"},
		}
	}
	return g.laterRules()
}

func (g Group) laterRules() []ruleRow {
	switch g {
	case AssessmentRules:
		return []ruleRow{
			{R600, "A"}, {R610, "A"}, {R615, "A"}, {R620, "A"}, {R630, "AB"}, {R635, "A"}, {R640, "A"},
			{R645, "A"}, {R650, "A"},
		}
	case SettleRules:
		return []ruleRow{
			{R700, "A"}, {R705, "A"}, {R710, "A"}, {R715, "A"}, {R725, "A"}, {R730, "A"}, {R735, "A"},
			{R740, "A"},
		}
	case MergeRules:
		return []ruleRow{
			{R660, "A"}, {R665, "A"}, {R670, "A"}, {R675, "A"}, {R680, "A"}, {R685, "A"}, {R690, "A"},
			{R695, "B"},
		}
	case FinalRules:
		return []ruleRow{
			{R750, "AB"}, {R752, "A"}, {R755, "A"}, {R760, "A"}, {R765, "A"}, {R770, "AX"}, {R775, "A"},
			{R780, "A"}, {R785, "A"}, {R790, "A"},
		}
	case ReportRules:
		return []ruleRow{
			{R940, "A"}, {R945, "A"},
		}
	case CompactionRules:
		return []ruleRow{
			{R800, "AX"}, {R805, "X"}, {R810, "A"}, {R815, "A"}, {R820, "A"}, {R825, "B"}, {R830, "B"},
			{R835, "B"}, {R840, "B"}, {R841, "B"}, {R842, "A"}, {R845, "A"}, {R848, "A"}, {R850, "B"},
			{R855, "B"},
		}
	case RecoveryRules:
		return []ruleRow{
			{R900, "X"}, {R910, "A"}, {R920, "AX"}, {R930, "B"},
		}
	}
	return nil
}
