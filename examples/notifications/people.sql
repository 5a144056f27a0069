INSERT INTO courses (course_id, title, course_string) VALUES (1, 'Introduction to Algorithms', '01:198:344');
INSERT INTO sections (section_id, course_id, section_number, subject_code, meeting_summary)
VALUES (1, 1, '03', '198', 'Mon, Thu 10:20-11:40, Hill Center 114');
INSERT INTO subscriptions (section_id, contact_value, locale, unsubscribe_token, metadata)
VALUES (1, 'ann@example.net', 'en-US', 't-ann', NULL),
       (1, 'li@example.net', 'zh-CN', 't-li', '{"preferences": {"notifyOn": ["Open"], "maxNotifications": 5}}'),
       (1, 'bob@example.net', NULL, 't-bob', '{"preferences": {"notifyOn": ["Waitlist"]}}');
INSERT INTO subscriptions (section_id, status, contact_value) VALUES (1, 'unsubscribed', 'eve@example.net');
