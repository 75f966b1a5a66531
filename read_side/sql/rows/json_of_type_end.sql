\ir size.sql
ORDER BY e.place
) e
) listed
