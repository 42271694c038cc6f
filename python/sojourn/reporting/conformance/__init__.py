"""What came of cases of a specification, for people and for programs: text, TAP, JUnit, JSON, pages, figures."""
